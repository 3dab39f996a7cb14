import type { Definition } from '../../../core/contract/schemas/definition.ts'
import { newId } from '../../../core/ids.ts'
import { addToSums, balanceValue, findBalance } from '../../../core/rules/balances/balances.ts'
import type { StoredEntry } from '../../../storage/balances/balance-entries-repository.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import { queueWalletUpdates } from '../../wallet-sync/holders.ts'

/** The delay of wallet updates. Entries within this time share an update, so that many entries cause few pushes. */
const UPDATE_DELAY_MS = 1_000

/** An entry to write, and the pass after the entry. */
export interface NewEntry {
  entry: StoredEntry
  pass: StoredPass
  correlationId: string
}

type EntryFacts = Pick<StoredEntry, 'name' | 'delta'> & Partial<StoredEntry> & { at: Date; correlationId: string }

/** Returns an entry of a pass that the caller has locked. */
export function newEntry(
  pass: StoredPass,
  definition: Pick<Definition, 'balances'>,
  { at, correlationId, ...facts }: EntryFacts,
): NewEntry {
  const { name, delta } = facts
  const balanceSums = addToSums(pass.balanceSums, name, delta, at)
  const entry = {
    id: newId(at),
    passId: pass.id,
    // If the pass was upgraded to a version without the balance, use the sum of the entries.
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
 * Writes entries with the sums and the events of their passes, and queues updates of their wallets. The caller has
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
  const events = entries.map(({ pass, correlationId }) => ({
    type: 'pass.updated' as const,
    subject: pass.id,
    correlationId,
    data: {
      id: pass.id,
      externalPassId: pass.externalPassId,
      templateId: pass.templateId,
      templateVersionId: pass.templateVersionId,
      projectId: pass.projectId,
      changedFields: ['balances' as const],
    },
  }))
  await Promise.all([
    tx.balanceEntries.insert(
      workspaceId,
      entries.map(({ entry }) => entry),
    ),
    tx.passes.setBalanceSums(workspaceId, sums, at),
    queueWalletUpdates(tx, workspaceId, [...last.keys()], {
      at,
      runAt: new Date(at.getTime() + UPDATE_DELAY_MS),
      correlationId: (passId) => last.get(passId)!.correlationId,
    }),
    tx.events.insert(workspaceId, events, at),
  ])
}
