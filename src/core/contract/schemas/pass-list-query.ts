import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import type { passFilterNames } from '../../rules/lists/pass-filters.ts'
import { passSorts } from '../../rules/lists/sorts.ts'
import { addIssue, CalendarDate, PassStatus, text } from './common.ts'
import {
  booleanParam,
  checkQualifier,
  checkWindow,
  exampleIds,
  filter,
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
export const Include = filter(
  z.enum(['wallets']),
  '`wallets` adds the response of GET /v1/passes/{id}/wallets to each pass.',
  'wallets',
)

/** The filters of GET /v1/passes, except the status. Other requests accept them in the body (see PassFilter). */
export const passFilters = {
  externalPassId: filter(text(1, 255), 'Matches the pass with this external ID.', 'order-1815-1'),
  search: filter(
    text(1, 255),
    'Matches passes whose label, external ID, or status contains this text, regardless of case.',
    'ada',
    MAX_SUBSTRINGS,
  ),
  projectId: filter(
    z.union([Uuid, z.literal('null')]),
    'Matches passes of this project. `null` matches passes without a project.',
    exampleIds.project,
  ),
  templateId: filter(Uuid, 'Matches passes of any version of this template.', exampleIds.template),
  groupKey: filter(text(1, 255), 'Matches passes of the group with this key.', 'order-1815'),
  joinSlug: filter(text(1, 64), 'Matches passes that the join page with this slug created.', 'coffee-card'),
  joinSource: filter(text(1, 64), 'Matches passes that a join page created for a visit from this source.', 'window'),
  variable: filter(
    VariableFilter,
    'Matches passes whose variable has this value: the name, a colon, and the value.',
    'seat:A-17',
    MAX_VARIABLE_FILTERS,
  ),
  validOn: filter(
    CalendarDate,
    'Matches passes that are valid for scanning on this day: passes with a redemption window that starts on this ' +
      'day, and passes without windows. Expired passes do not match.',
    '2027-05-20',
  ),
  redeemed: filter(booleanParam, 'Whether the pass has an accepted scan that was not reversed.', false),
  redeemedContext: filter(
    text(1, 128),
    'With `redeemed`: considers only scans with this scanContextKey.',
    '2027-05-20',
  ),
  installed: filter(booleanParam, 'Whether a wallet holds the pass.', true),
  platform: filter(
    Platform,
    'Matches passes that a wallet of this platform holds. With `installed` and `stale`, considers only wallets of this platform.',
    'apple',
  ),
  stale: filter(booleanParam, 'Whether a wallet that holds the pass lacks its newest version.', true),
  label: filter(text(1, 255), 'Matches passes with this label. `labelMatch` selects the comparison.', 'Ada Lovelace'),
  labelMatch: filter(
    z.enum(['exact', 'prefix', 'contains']),
    'With `label`: how labels are compared. Default: exact. `contains` ignores case.',
    'prefix',
  ),
  revision: filter(
    numericFilter,
    'Matches passes with this revision: a number, or a bound such as gte:3 or lte:7.',
    'gte:2',
  ),
  templateVersion: filter(
    numericFilter,
    'Matches passes with this version of their template: a number, or a bound such as gte:3 or lte:7.',
    'lte:3',
  ),
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
    addIssue(context, ['label'], `Must have at most ${MAX_SUBSTRINGS} values if labelMatch is contains`)
  }
}

/** The filters and sort keys of GET /v1/passes. */
export const PassListQuery = listQuery(passSorts, {
  status: filter(PassStatus, 'Matches passes with this status.', 'ISSUED'),
  ...passFilters,
  include: Include,
}).superRefine(checkPassFilters)
