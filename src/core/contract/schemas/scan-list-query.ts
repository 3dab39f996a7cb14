import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { addIssue, bucketUnits, text } from './common.ts'
import { checkQualifier, checkWindow, exampleIds, filter, pageQuery, param, windowParams } from './list-parameters.ts'
import { Timezone } from './redemption.ts'
import { LedgerReason, ScanResult } from './scan-shapes.ts'

/** The names of the filters by the time of a scan. Each bound has two names. */
export const scannedWindow = ['from', 'to', 'scannedSince', 'scannedUntil'] as const

const ContextKey = text(1, 128)

const filters = {
  projectId: filter(Uuid, 'Matches scans of this project.', exampleIds.project),
  templateId: filter(Uuid, 'Matches scans of passes of any version of this template.', exampleIds.template),
  scanContextKey: filter(ContextKey, 'Matches scans with this scanContextKey.', '2027-05-20'),
}

/** The filters of GET /v1/scans. As in the ledger, `result=denied` matches every attempt that was not accepted. */
export const ScanListQuery = pageQuery({
  passId: filter(Uuid, 'Matches scans of this pass.', exampleIds.pass),
  result: filter(
    ScanResult,
    'Matches scans with this result. `denied` matches every attempt that was not accepted.',
    'accepted',
  ),
  resultGroup: filter(z.literal('denied'), 'Matches every attempt that was not accepted, without reversals.', 'denied'),
  reason: filter(LedgerReason, 'Matches scans with this reason.', 'already_used'),
  ...filters,
  ...windowParams(scannedWindow, 'scans made'),
}).superRefine((query, context) => checkWindow(scannedWindow, query, context))

/** The filters of GET /v1/scans/stats. If scanContextFrom or scanContextUntil is repeated, the widest range applies. */
export const ScanStatsQuery = z
  .strictObject({
    ...filters,
    scanContextFrom: filter(
      ContextKey,
      'Matches scans whose scanContextKey is at or after this text, by code point.',
      '2027-05-20',
    ),
    scanContextUntil: filter(
      ContextKey,
      'Matches scans whose scanContextKey is at or before this text, by code point.',
      '2027-05-22',
    ),
    groupBy: filter(z.enum(['project', 'gate']), 'Returns the figures of each project or gate.', 'gate'),
    by: param(z.enum(bucketUnits), 'Returns the attempts of each hour, day, week, or month. Requires `from`.', 'hour'),
    zone: param(
      Timezone,
      'With `by`: the IANA time zone in which days, weeks, and months start. Default: UTC.',
      'Europe/Lisbon',
    ),
    gate: filter(text(1, 1000), 'With `by`: counts only attempts at this gate.', 'North'),
    ...windowParams(scannedWindow, 'scans made'),
  })
  .superRefine((query, context) => {
    checkWindow(scannedWindow, query, context)
    if (new Set(query.groupBy).size > 1) addIssue(context, ['groupBy'], 'Give only one of project and gate')
    for (const bound of ['scanContextFrom', 'scanContextUntil'] as const) {
      if (query.scanContextKey === undefined || query[bound] === undefined) continue
      addIssue(context, [bound], 'Cannot be combined with scanContextKey')
    }
    checkQualifier('zone', 'by', query, context)
    checkQualifier('gate', 'by', query, context)
    if (query.by === undefined) return
    if (query.groupBy !== undefined) {
      addIssue(context, ['by'], 'Give either "groupBy" or "by". To filter by a project, use projectId')
    }
    if (query.from === undefined && query.scannedSince === undefined) {
      addIssue(context, ['from'], 'Is required if "by" is set')
    }
  })
