import { type BalanceEntryCreate, type BalanceEntryReversal, MAX_ENTRIES } from '../../../core/contract/balances.ts'
import type { Definition } from '../../../core/contract/schemas/definition.ts'
import { ApiError } from '../../../core/errors.ts'
import { runsOf } from '../../../core/group-by.ts'
import { balanceValue, findBalance, isCovered, maxOf, sumOf } from '../../../core/rules/balances/balances.ts'
import type { StoredEntry } from '../../../storage/balances/balance-entries-repository.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { type Definitions, VERSIONS_AT_ONCE, type VersionContent } from '../../wallet-sync/definitions.ts'
import { audit, auditEach } from '../audit.ts'
import { noPass } from '../passes/require-pass.ts'
import { type NewEntry, newEntry, writeEntries } from './write-entries.ts'

export interface AskedEntry {
  passId: string
  name: string
  body: BalanceEntryCreate
  context: RequestContext
}

export interface AddedEntry {
  entry: StoredEntry
  isNew: boolean
}

/** The maximum number of entries of a pass per transaction. */
const MOST_OF_PASS = 32

/**
 * Adds an entry to a balance. Concurrent requests of a workspace share a transaction. It locks the passes, so that each
 * change is checked against the value after all earlier entries. Returns an error if the change is not possible.
 */
export const addTogether = grouped(
  (store: Store, take: () => AskedEntry[]) =>
    store.transaction(async (tx): Promise<(AddedEntry | ApiError)[]> => {
      const asked = take()
      const { workspaceId, services } = asked[0]!.context
      // Keep this order. The second query must read the entries after the first query has locked the passes.
      const [held, found] = await Promise.all([
        tx.passes.listForUpdate(workspaceId, [...new Set(asked.map(({ passId }) => passId))]),
        tx.balanceEntries.listByRefs(
          workspaceId,
          asked.map(({ passId, name, body: { externalRef } }) => ({ passId, name, externalRef })),
        ),
        tx.events.expect(workspaceId),
      ])
      const versions = await versionsOf(tx, held, services.definitions)
      const passes = new Map(held.map((pass) => [pass.id, pass]))
      const known = new Map(found.map((entry) => [keyOf(entry), entry]))
      const added = new Map<AskedEntry, NewEntry>()
      const results = asked.map((one) => {
        const { passId, name, body, context } = one
        const pass = passes.get(passId)
        if (!pass) return noPass(passId)
        const first = known.get(keyOf({ passId, name, ...body }))
        if (first) return { entry: first, isNew: false }
        const version = versions.get(pass.templateVersionId)
        const rejection = findRejection(pass, version, { name, delta: body.delta })
        if (rejection) return rejection
        const { now: at, correlationId } = context
        const made = newEntry(pass, version!.definition, {
          ...body,
          name,
          reason: body.reason ?? null,
          at,
          correlationId,
        })
        passes.set(passId, made.pass)
        known.set(keyOf(made.entry), made.entry)
        added.set(one, made)
        return { entry: made.entry, isNew: true }
      })
      // The same time for all passes is exact enough: the times of concurrent requests differ by milliseconds.
      const at = new Date(Math.max(...asked.map(({ context }) => context.now.getTime())))
      await writeEntries(tx, workspaceId, [...added.values()], at)
      const done = [...added].map(([{ context, passId }, { entry }]) => ({ context, targetId: entry.id, passId }))
      await auditEach(tx, workspaceId, 'balance.add', done)
      return results
    }),
  { keyOf: ({ passId }) => passId, mostOfKey: MOST_OF_PASS },
)

function keyOf({ passId, name, externalRef }: Pick<StoredEntry, 'passId' | 'name' | 'externalRef'>): string {
  return JSON.stringify([passId, name, externalRef])
}

/** Returns the template versions of passes, by version ID. Omits passes without balances. */
export async function versionsOf(
  tx: Repositories,
  passes: StoredPass[],
  definitions: Definitions,
): Promise<Map<string, VersionContent>> {
  const found = new Map<string, VersionContent>()
  const withBalances = passes.filter(({ hasBalances }) => hasBalances)
  for (const run of runsOf(withBalances, ({ templateVersionId }) => templateVersionId, VERSIONS_AT_ONCE)) {
    const ids = [...new Set(run.map(({ templateVersionId }) => templateVersionId))]
    for (const [id, version] of await definitions.findVersions(run[0]!.workspaceId, ids, tx)) found.set(id, version)
  }
  return found
}

interface Change {
  name: string
  delta: number
}

/** Returns the error PASS_ALREADY_VOIDED, NOT_FOUND, or CONFLICT if the change is not possible. */
function findRejection(pass: StoredPass, version: VersionContent | undefined, change: Change): ApiError | undefined {
  const { name } = change
  if (pass.status === 'VOID') return new ApiError('PASS_ALREADY_VOIDED', { details: { passId: pass.id } })
  if (!version || !findBalance(version.definition, name)) return noBalance(pass.id, name)
  if (sumOf(pass.balanceSums, name).count >= MAX_ENTRIES) {
    return new ApiError('CONFLICT', {
      message: `The balance ${name} of the pass has ${MAX_ENTRIES} entries, which is the maximum.`,
      details: { limit: 'balanceEntries', allowed: MAX_ENTRIES, used: sumOf(pass.balanceSums, name).count },
    })
  }
  return findUncovered(pass, version.definition, change)
}

/** Returns an error if a change would exceed the bounds of a balance. A balance without a definition has no bounds. */
export function findUncovered(
  pass: StoredPass,
  definition: Pick<Definition, 'balances'>,
  { name, delta }: Change,
): ApiError | undefined {
  const balance = findBalance(definition, name)
  if (!balance) return undefined
  const value = balanceValue(balance, name, pass.balanceSums)
  if (isCovered(balance, value, delta)) return undefined
  const [min, max] = [balance.min, maxOf(balance)]
  const message =
    delta < 0
      ? `The balance ${name} is ${value}, and cannot go below ${min}.`
      : `The balance ${name} is ${value}, and cannot go above ${max}.`
  return new ApiError('CONFLICT', { message, details: { value, min, max, delta } })
}

export function noBalance(passId: string, name: string): ApiError {
  return new ApiError('NOT_FOUND', { message: 'The pass has no balance of this name.', details: { passId, name } })
}

interface AskedReversal {
  passId: string
  name: string
  entryId: string
  body: BalanceEntryReversal
}

/** @throws ApiError PASS_NOT_FOUND, NOT_FOUND, PASS_ALREADY_VOIDED, CONFLICT if the entry cannot be reversed */
export function reverseEntry(
  { passId, name, entryId, body }: AskedReversal,
  context: RequestContext,
): Promise<AddedEntry> {
  const { store, workspaceId, services, now: at, correlationId } = context
  return store.transaction(async (tx) => {
    const [pass] = await Promise.all([tx.passes.findForUpdate(workspaceId, passId), tx.events.expect(workspaceId)])
    if (!pass) throw noPass(passId)
    const entry = await tx.balanceEntries.find(workspaceId, { passId, name }, entryId)
    if (!entry) throw new ApiError('NOT_FOUND', { message: 'Entry not found.', details: { passId, name, entryId } })
    const [reversal] = await tx.balanceEntries.listReversals(workspaceId, [entryId])
    const { externalRef = null, reason = null } = body
    if (reversal && externalRef !== null && reversal.externalRef === externalRef)
      return { entry: reversal, isNew: false }
    if (reversal) throw conflict(entryId, 'The entry was already reversed.')
    if (entry.reversesEntryId !== null) throw conflict(entryId, 'A reversal cannot be reversed. Add another entry.')
    const taken =
      externalRef === null ? [] : await tx.balanceEntries.listByRefs(workspaceId, [{ passId, name, externalRef }])
    if (taken.length > 0) throw conflict(entryId, 'The externalRef belongs to another entry.')
    const version = (await versionsOf(tx, [pass], services.definitions)).get(pass.templateVersionId)
    const delta = -entry.delta
    const rejection = findRejection(pass, version, { name, delta })
    if (rejection) throw rejection
    const made = newEntry(pass, version!.definition, {
      name,
      delta,
      externalRef,
      reason,
      reversesEntryId: entryId,
      at,
      correlationId,
    })
    await writeEntries(tx, workspaceId, [made], at)
    await audit(tx, context, 'balance.reverse', made.entry.id, { passId })
    return { entry: made.entry, isNew: true }
  })
}

function conflict(entryId: string, message: string): ApiError {
  return new ApiError('CONFLICT', { message, details: { entryId } })
}
