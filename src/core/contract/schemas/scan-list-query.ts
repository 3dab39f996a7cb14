import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { bucketUnits, text } from './common.ts'
import { anyOf, checkQualifier, checkWindow, pageQuery, windowParams } from './list-parameters.ts'
import { Timezone } from './redemption.ts'
import { LedgerReason, ScanResult } from './scan-shapes.ts'

/** The names of the filters by the time of a scan. Each bound has two names. */
export const scannedWindow = ['from', 'to', 'scannedSince', 'scannedUntil'] as const

const ContextKey = text(1, 128)

const filters = {
  projectId: anyOf(Uuid)
    .optional()
    .meta({ description: 'Matches scans of this project.', example: '01985f0c-7a10-7000-8000-000000000001' }),
  templateId: anyOf(Uuid).optional().meta({
    description: 'Matches scans of passes of any version of this template.',
    example: '01985f0c-7a10-7000-8000-000000000007',
  }),
  scanContextKey: anyOf(ContextKey)
    .optional()
    .meta({ description: 'Matches scans with this scanContextKey.', example: '2027-05-20' }),
}

/** The filters of GET /v1/scans. As in the ledger, `result=denied` matches every attempt that was not accepted. */
export const ScanListQuery = pageQuery({
  passId: anyOf(Uuid)
    .optional()
    .meta({ description: 'Matches scans of this pass.', example: '01985f0c-7a10-7000-8000-000000000011' }),
  result: anyOf(ScanResult).optional().meta({
    description: 'Matches scans with this result. `denied` matches every attempt that was not accepted.',
    example: 'accepted',
  }),
  resultGroup: anyOf(z.literal('denied'))
    .optional()
    .meta({ description: 'Matches every attempt that was not accepted, without reversals.', example: 'denied' }),
  reason: anyOf(LedgerReason)
    .optional()
    .meta({ description: 'Matches scans with this reason.', example: 'already_used' }),
  ...filters,
  ...windowParams(scannedWindow, 'scans made'),
}).superRefine((query, context) => checkWindow(scannedWindow, query, context))

/** The filters of GET /v1/scans/stats. If scanContextFrom or scanContextUntil is repeated, the widest range applies. */
export const ScanStatsQuery = z
  .strictObject({
    ...filters,
    scanContextFrom: anyOf(ContextKey).optional().meta({
      description: 'Matches scans whose scanContextKey is at or after this text, by code point.',
      example: '2027-05-20',
    }),
    scanContextUntil: anyOf(ContextKey).optional().meta({
      description: 'Matches scans whose scanContextKey is at or before this text, by code point.',
      example: '2027-05-22',
    }),
    groupBy: anyOf(z.enum(['project', 'gate']))
      .optional()
      .meta({ description: 'Returns the figures of each project or gate.', example: 'gate' }),
    by: z.enum(bucketUnits).optional().meta({
      description: 'Returns the attempts of each hour, day, week, or month. Requires `from`.',
      example: 'hour',
    }),
    zone: Timezone.optional().meta({
      description: 'With `by`: the IANA time zone in which days, weeks, and months start. Default: UTC.',
      example: 'Europe/Lisbon',
    }),
    gate: anyOf(text(1, 1000))
      .optional()
      .meta({ description: 'With `by`: counts only attempts at this gate.', example: 'North' }),
    ...windowParams(scannedWindow, 'scans made'),
  })
  .superRefine((query, context) => {
    checkWindow(scannedWindow, query, context)
    if (new Set(query.groupBy).size > 1) {
      context.addIssue({ code: 'custom', path: ['groupBy'], message: 'Give only one of project and gate' })
    }
    for (const bound of ['scanContextFrom', 'scanContextUntil'] as const) {
      if (query.scanContextKey === undefined || query[bound] === undefined) continue
      context.addIssue({ code: 'custom', path: [bound], message: 'Cannot be combined with scanContextKey' })
    }
    checkQualifier('zone', 'by', query, context)
    checkQualifier('gate', 'by', query, context)
    if (query.by === undefined) return
    if (query.groupBy !== undefined) {
      context.addIssue({
        code: 'custom',
        path: ['by'],
        message: 'Give either "groupBy" or "by". To filter by a project, use projectId',
      })
    }
    if (query.from === undefined && query.scannedSince === undefined) {
      context.addIssue({ code: 'custom', path: ['from'], message: 'Is required if "by" is set' })
    }
  })
