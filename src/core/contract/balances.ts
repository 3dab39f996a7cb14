import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { BalanceDelta, BalanceKind } from './schemas/balances.ts'
import { pageOf, route, text, UtcTimestamp } from './schemas/common.ts'
import { pageQuery } from './schemas/list-parameters.ts'

/** The maximum number of entries in a balance of a pass. Scans can add entries beyond this limit. */
export const MAX_ENTRIES = 100_000

/** A balance of a pass, with its value. */
export const PassBalance = z.strictObject({
  name: z.string(),
  kind: BalanceKind,
  currency: z.string().nullable().describe('An ISO 4217 code; null unless the kind is currency.'),
  value: z.int().describe('The start plus the sum of the entries. A balance in a currency counts minor units.'),
  updatedAt: UtcTimestamp.describe('The time of the last entry, or the creation of the pass.'),
})
export type PassBalance = z.output<typeof PassBalance>

/** The balances of a pass. */
export const PassBalances = z.strictObject({ items: z.array(PassBalance) })
export type PassBalances = z.output<typeof PassBalances>

/** An entry of a balance: a change of its value. */
export const BalanceEntry = z.strictObject({
  id: Uuid,
  passId: Uuid,
  name: z.string().describe('The name of the balance.'),
  delta: z.int(),
  value: z.int().describe('The value of the balance after the entry.'),
  externalRef: z
    .string()
    .nullable()
    .describe('Null for the entry of a scan, and for a reversal that was requested without an externalRef.'),
  reason: z.string().nullable(),
  scanId: Uuid.nullable().describe('The scan, or the reversal of a scan, that made the entry.'),
  reversesEntryId: Uuid.nullable().describe('The reversed entry.'),
  createdAt: UtcTimestamp,
})
export type BalanceEntry = z.output<typeof BalanceEntry>

/** The response to a new entry of a balance. */
export const BalanceEntryResult = z.strictObject({ entry: BalanceEntry })
export type BalanceEntryResult = z.output<typeof BalanceEntryResult>

/** The request body that adds an entry to a balance. */
export const BalanceEntryCreate = z.strictObject({
  delta: BalanceDelta,
  externalRef: text(1, 255).describe(
    'Unique in the balance. A second request with the same reference changes nothing.',
  ),
  reason: text(1, 255).optional(),
})
export type BalanceEntryCreate = z.output<typeof BalanceEntryCreate>

/** The request body that reverses an entry of a balance. */
export const BalanceEntryReversal = z.strictObject({
  externalRef: text(1, 255).optional(),
  reason: text(1, 255).optional(),
})
export type BalanceEntryReversal = z.output<typeof BalanceEntryReversal>

const name = {
  name: z.string().min(1).max(64).describe('The name of the balance in the definition of the template.'),
}

/** Routes of the balances of passes. */
export const balances = {
  list: route('GET', '/v1/passes/{id}/balances', {
    scope: 'passes:read',
    summary: 'Read the balances of a pass',
    description: 'Returns the balances that the version of the pass defines, in the order of the definition.',
    responses: { 200: PassBalances },
    errors: ['PASS_NOT_FOUND'],
  }),
  createEntry: route(
    'POST',
    '/v1/passes/{id}/balances/{name}/entries',
    {
      scope: 'passes:write',
      summary: 'Change a balance of a pass',
      description:
        'Adds an entry, which is never changed or deleted. If the balance has an entry with the externalRef, the ' +
        'response is 200 with this entry, and nothing changes. If the value would be below the minimum or above the ' +
        'maximum, the response is 409 CONFLICT with `value`, `min`, `max`, and `delta`. Each entry emits ' +
        'pass.updated with changedFields `balances`. The revision of the pass does not change. Wallets show the new ' +
        `value within seconds. Entries within a second share an update. A balance of a pass can have ${MAX_ENTRIES} entries.`,
      idempotent: true,
      body: BalanceEntryCreate,
      responses: { 200: BalanceEntryResult, 201: BalanceEntryResult },
      errors: ['PASS_NOT_FOUND', 'NOT_FOUND', 'PASS_ALREADY_VOIDED', 'CONFLICT'],
    },
    name,
  ),
  listEntries: route(
    'GET',
    '/v1/passes/{id}/balances/{name}/entries',
    {
      scope: 'passes:read',
      summary: 'List the entries of a balance',
      description: 'Returns the newest entries first.',
      query: pageQuery({}),
      responses: { 200: pageOf(BalanceEntry) },
      errors: ['PASS_NOT_FOUND', 'NOT_FOUND'],
    },
    name,
  ),
  reverseEntry: route(
    'POST',
    '/v1/passes/{id}/balances/{name}/entries/{entryId}/reverse',
    {
      scope: 'passes:write',
      summary: 'Reverse an entry of a balance',
      description:
        'Adds an entry with the opposite delta. An entry can be reversed once. A second request with the same ' +
        'externalRef returns the first reversal with 200. If the balance cannot cover the reversal, the response is ' +
        '409 CONFLICT with `value`, `min`, `max`, and `delta`.',
      body: BalanceEntryReversal.default({}),
      responses: { 200: BalanceEntryResult, 201: BalanceEntryResult },
      errors: ['PASS_NOT_FOUND', 'NOT_FOUND', 'PASS_ALREADY_VOIDED', 'CONFLICT'],
    },
    name,
  ),
}
