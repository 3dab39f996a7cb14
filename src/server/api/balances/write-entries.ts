import type { Definition } from '../../../core/contract/schemas/definition.ts'
import { newId } from '../../../core/ids.ts'
import { addToSums, balanceValue, findBalance, sumOf } from '../../../core/rules/balances/balances.ts'
import type { StoredEntry } from '../../../storage/balances/balance-entries-repository.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import { passUpdated } from '../../pass-content/pass-updated.ts'
import { queueWalletUpdates } from '../../wallet-sync/holders.ts'

/** The delay of the wallet update after an entry. Entries within this delay share one update, which saves pushes. */
const UPDATE_DELAY_MS = 1_000

/** An entry that will be written, and the pass with the resulting balance. */
export interface NewEntry {
  entry: StoredEntry
  pass: StoredPass
  correlationId: string
}

type EntryFacts = Pick<StoredEntry, 'name' | 'delta'> & Partial<StoredEntry> & { at: Date; correlationId: string }

/**
 * Creates an entry for a pass that the caller has locked. The entry is later than the previous entry of the balance,
 * even if its request is earlier: lists sort entries by time, and each value must follow from the previous entry.
 */
export function newEntry(
  pass: StoredPass,
  definition: Pick<Definition, 'balances'>,
  { at: requestedAt, correlationId, ...facts }: EntryFacts,
): NewEntry {
  const { name, delta } = facts
  const at = new Date(Math.max(requestedAt.getTime(), sumOf(pass.balanceSums, name).at + 1))
  const balanceSums = addToSums(pass.balanceSums, name, delta, at)
  const entry = {
    id: newId(at),
    passId: pass.id,
    // An upgraded pass can have a version without the balance. The value is then the sum of the entries.
    value: balanceValue(findBalance(definition, name) ?? { start: 0 }, name, balanceSums),
    externalRef: null,
    reason: null,
    scanId: null,
    reversesEntryId: null,
    createdAt: at,
    ...facts,
  }
  return { entry, pass: { ...pass, balanceSums }, correlationId }
}

/**
 * Writes entries, the new sums of their passes, and events. Queues wallet updates of the passes. The caller must have
 * locked the passes. The entries of a pass must be in order.
 */
export async function writeEntries(
  tx: Repositories,
  workspaceId: string,
  entries: NewEntry[],
  at: Date,
): Promise<void> {
  if (entries.length === 0) return
  const last = new Map(entries.map((one) => [one.pass.id, one]))
  const sums = [...last.values()].map(({ pass }) => ({ passId: pass.id, sums: pass.balanceSums! }))
  const events = entries.map(({ pass, correlationId }) => passUpdated(pass, ['balances'], correlationId))
  const stored = entries.map(({ entry }) => entry)
  await Promise.all([
    tx.balanceEntries.insert(workspaceId, stored),
    tx.passes.setBalanceSums(workspaceId, sums, at),
    queueWalletUpdates(tx, workspaceId, [...last.keys()], {
      at,
      runAt: new Date(at.getTime() + UPDATE_DELAY_MS),
      correlationId: (passId) => last.get(passId)!.correlationId,
    }),
    tx.events.insert(workspaceId, events, at),
  ])
}
