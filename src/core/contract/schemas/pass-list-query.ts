import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { passSorts } from '../../rules/lists/sorts.ts'
import { CalendarDate, PassStatus, text } from './common.ts'
import {
  anyOf,
  booleanParam,
  checkQualifier,
  checkWindow,
  listQuery,
  MAX_SUBSTRINGS,
  numericFilter,
  windowParams,
} from './list-parameters.ts'
import { Platform } from './platform.ts'

/** The filters by creation time. Each bound has two names. */
export const createdWindow = ['createdFrom', 'createdTo', 'createdSince', 'createdUntil'] as const

const MAX_VARIABLE_FILTERS = 5

/** `key:value`, split at the first colon. */
const VariableFilter = z
  .string()
  .max(2048)
  .regex(/^[^:]+:/, 'Must be key:value')
  .transform((text) => ({ name: text.slice(0, text.indexOf(':')), value: text.slice(text.indexOf(':') + 1) }))

const INCLUDED = 'include=wallets adds the response of GET /v1/passes/{id}/wallets to each pass.'
/** The additional parts of a pass in responses. */
export const Include = anyOf(z.enum(['wallets']))
  .optional()
  .describe(INCLUDED)

/** The filters and sort keys of GET /v1/passes. */
export const PassListQuery = listQuery(passSorts, {
  status: anyOf(PassStatus).optional(),
  externalPassId: anyOf(text(1, 255)).optional(),
  search: anyOf(text(1, 255), MAX_SUBSTRINGS).optional(),
  projectId: anyOf(z.union([Uuid, z.literal('null')])).optional(),
  templateId: anyOf(Uuid).optional(),
  groupKey: anyOf(text(1, 255)).optional(),
  variable: anyOf(VariableFilter, MAX_VARIABLE_FILTERS).optional(),
  validOn: anyOf(CalendarDate).optional(),
  redeemed: anyOf(booleanParam).optional(),
  redeemedContext: anyOf(text(1, 128)).optional(),
  installed: anyOf(booleanParam).optional(),
  platform: anyOf(Platform).optional(),
  stale: anyOf(booleanParam).optional(),
  label: anyOf(text(1, 255)).optional(),
  labelMatch: anyOf(z.enum(['exact', 'prefix', 'contains'])).optional(),
  revision: anyOf(numericFilter).optional(),
  templateVersion: anyOf(numericFilter).optional(),
  ...windowParams(createdWindow),
  include: Include,
}).superRefine((query, context) => {
  checkQualifier('labelMatch', 'label', query, context)
  checkQualifier('redeemedContext', 'redeemed', query, context)
  checkWindow(createdWindow, query, context)
  if (query.labelMatch?.includes('contains') && query.label && query.label.length > MAX_SUBSTRINGS) {
    const message = `Must have at most ${MAX_SUBSTRINGS} values if labelMatch is contains`
    context.addIssue({ code: 'custom', path: ['label'], message })
  }
})
