import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import type { passFilterNames } from '../../rules/lists/pass-filters.ts'
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

/** The names of the filters by creation time. Each bound has two names. */
export const createdWindow = ['createdFrom', 'createdTo', 'createdSince', 'createdUntil'] as const

const MAX_VARIABLE_FILTERS = 5

/** A filter by a variable: `key:value`, split at the first colon. */
const VariableFilter = z
  .string()
  .max(2048)
  .regex(/^[^:]+:/, 'Must be key:value')
  .transform((text) => ({ name: text.slice(0, text.indexOf(':')), value: text.slice(text.indexOf(':') + 1) }))

/** The parameter for additional parts of passes in a response. */
export const Include = anyOf(z.enum(['wallets']))
  .optional()
  .meta({ description: '`wallets` adds the response of GET /v1/passes/{id}/wallets to each pass.', example: 'wallets' })

/** The filters of GET /v1/passes, except the status. Other requests accept them in the body (see PassFilter). */
export const passFilters = {
  externalPassId: anyOf(text(1, 255))
    .optional()
    .meta({ description: 'Matches the pass with this external ID.', example: 'order-1815-1' }),
  search: anyOf(text(1, 255), MAX_SUBSTRINGS).optional().meta({
    description: 'Matches passes whose label, external ID, or status contains this text, regardless of case.',
    example: 'ada',
  }),
  projectId: anyOf(z.union([Uuid, z.literal('null')]))
    .optional()
    .meta({
      description: 'Matches passes of this project. `null` matches passes without a project.',
      example: '01985f0c-7a10-7000-8000-000000000001',
    }),
  templateId: anyOf(Uuid).optional().meta({
    description: 'Matches passes of any version of this template.',
    example: '01985f0c-7a10-7000-8000-000000000007',
  }),
  groupKey: anyOf(text(1, 255))
    .optional()
    .meta({ description: 'Matches passes of the group with this key.', example: 'order-1815' }),
  joinSlug: anyOf(text(1, 64))
    .optional()
    .meta({ description: 'Matches passes that the join page with this slug created.', example: 'coffee-card' }),
  joinSource: anyOf(text(1, 64))
    .optional()
    .meta({ description: 'Matches passes that a join page created for a visit from this source.', example: 'window' }),
  variable: anyOf(VariableFilter, MAX_VARIABLE_FILTERS).optional().meta({
    description: 'Matches passes whose variable has this value: the name, a colon, and the value.',
    example: 'seat:A-17',
  }),
  validOn: anyOf(CalendarDate)
    .optional()
    .meta({
      description:
        'Matches passes that are valid for scanning on this day: passes with a redemption window that starts on this ' +
        'day, and passes without windows. Expired passes do not match.',
      example: '2027-05-20',
    }),
  redeemed: anyOf(booleanParam)
    .optional()
    .meta({ description: 'Whether the pass has an accepted scan that was not reversed.', example: false }),
  redeemedContext: anyOf(text(1, 128))
    .optional()
    .meta({ description: 'With `redeemed`: considers only scans with this scanContextKey.', example: '2027-05-20' }),
  installed: anyOf(booleanParam).optional().meta({ description: 'Whether a wallet holds the pass.', example: true }),
  platform: anyOf(Platform).optional().meta({
    description:
      'Matches passes that a wallet of this platform holds. With `installed` and `stale`, considers only wallets of this platform.',
    example: 'apple',
  }),
  stale: anyOf(booleanParam)
    .optional()
    .meta({ description: 'Whether a wallet that holds the pass lacks its newest version.', example: true }),
  label: anyOf(text(1, 255)).optional().meta({
    description: 'Matches passes with this label. `labelMatch` selects the comparison.',
    example: 'Ada Lovelace',
  }),
  labelMatch: anyOf(z.enum(['exact', 'prefix', 'contains']))
    .optional()
    .meta({
      description: 'With `label`: how labels are compared. Default: exact. `contains` ignores case.',
      example: 'prefix',
    }),
  revision: anyOf(numericFilter).optional().meta({
    description: 'Matches passes with this revision: a number, or a bound such as gte:3 or lte:7.',
    example: 'gte:2',
  }),
  templateVersion: anyOf(numericFilter).optional().meta({
    description: 'Matches passes with this version of their template: a number, or a bound such as gte:3 or lte:7.',
    example: 'lte:3',
  }),
  ...windowParams(createdWindow, 'passes created'),
} satisfies Record<(typeof passFilterNames)[number], z.ZodType>

/** Checks the rules that concern several filters. */
export function checkPassFilters(
  query: Record<string, unknown> & { label?: string[] | undefined; labelMatch?: string[] | undefined },
  context: z.RefinementCtx,
): void {
  checkQualifier('labelMatch', 'label', query, context)
  checkQualifier('redeemedContext', 'redeemed', query, context)
  checkWindow(createdWindow, query, context)
  if (query.labelMatch?.includes('contains') && query.label && query.label.length > MAX_SUBSTRINGS) {
    const message = `Must have at most ${MAX_SUBSTRINGS} values if labelMatch is contains`
    context.addIssue({ code: 'custom', path: ['label'], message })
  }
}

/** The filters and sort keys of GET /v1/passes. */
export const PassListQuery = listQuery(passSorts, {
  status: anyOf(PassStatus).optional().meta({ description: 'Matches passes with this status.', example: 'ISSUED' }),
  ...passFilters,
  include: Include,
}).superRefine(checkPassFilters)
