import type { ScanBalance } from '../../../core/contract/schemas/scan-shapes.ts'
import { idsOf } from '../../../core/ids.ts'
import { applyRules, balanceValue, type RuledBalance } from '../../../core/rules/balances/balances.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import type { Definitions } from '../../wallet-sync/definitions.ts'
import { findUncovered, versionsOf } from '../balances/add-entry.ts'
import { type NewEntry, newEntry, writeEntries } from '../balances/write-entries.ts'
import type { DecidedScan } from './attempt.ts'

/** Returns the balances of each pass, and how an accepted scan changes each balance. Omits passes without balances. */
export async function readBalances(
  tx: Repositories,
  passes: StoredPass[],
  definitions: Definitions,
): Promise<Map<string, RuledBalance[]>> {
  const versions = await versionsOf(tx, passes, definitions)
  const found = new Map<string, RuledBalance[]>()
  for (const { id, templateVersionId, balanceSums } of passes) {
    const definition = versions.get(templateVersionId)?.definition
    if (definition) found.set(id, applyRules(definition, balanceSums))
  }
  return found
}

export interface BalancesAfter {
  pass: StoredPass
  balances: ScanBalance[]
}

/**
 * Writes the balance entries of recorded scans, and returns the balances after each scan whose pass has balances. Only
 * an accepted scan that debits a use changes balances. If a device accepted a scan that a balance does not cover, the
 * balance ends at its minimum.
 */
export async function writeBalances(
  tx: Repositories,
  workspaceId: string,
  written: DecidedScan[],
  definitions: Definitions,
): Promise<Map<DecidedScan, BalancesAfter>> {
  const after = new Map<DecidedScan, BalancesAfter>()
  const ruled = written.filter(({ decision }) => decision.balances)
  if (ruled.length === 0) return after
  const passes = ruled.map(({ decision }) => decision.pass!)
  const versions = await versionsOf(tx, passes, definitions)
  const entries: NewEntry[] = []
  for (const one of ruled) {
    const { scan, decision, correlationId } = one
    const counts = scan.result === 'accepted' && decision.debit !== null
    let pass = decision.pass!
    const balances = decision.balances!.map(({ name, value, delta }) => {
      if (!counts || delta === 0) return { name, value, delta: 0 }
      const facts = { name, delta, scanId: scan.id, at: scan.recordedAt, correlationId }
      const made = newEntry(pass, versions.get(pass.templateVersionId)!.definition, facts)
      pass = made.pass
      entries.push(made)
      return { name, value: made.entry.value, delta }
    })
    after.set(one, { pass, balances })
  }
  const at = new Date(Math.max(...ruled.map(({ scan }) => scan.recordedAt.getTime())))
  await writeEntries(tx, workspaceId, entries, at)
  return after
}

/**
 * Reverses the balance entries of a scan, except those that are already reversed.
 * @param pass the locked pass of the scan
 * @throws ApiError CONFLICT if a balance cannot cover the reversal
 */
export async function reverseBalances(
  tx: Repositories,
  pass: StoredPass | null,
  { scan, reversal }: { scan: StoredScan; reversal: StoredScan },
  { workspaceId, correlationId, services }: RequestContext,
): Promise<void> {
  if (!pass?.balanceSums) return
  const made = await tx.balanceEntries.listOfScan(workspaceId, scan.id)
  const reversals = await tx.balanceEntries.listReversals(workspaceId, idsOf(made))
  const reversed = new Set(reversals.map(({ reversesEntryId }) => reversesEntryId))
  const open = made.filter(({ id }) => !reversed.has(id))
  if (open.length === 0) return
  const version = (await versionsOf(tx, [pass], services.definitions)).get(pass.templateVersionId)
  const { definition } = version ?? { definition: NO_BALANCES }
  const entries: NewEntry[] = []
  let current = pass
  for (const { id, name, delta: added } of open) {
    const delta = -added
    const rejection = findUncovered(current, definition, { name, delta })
    if (rejection) throw rejection
    const facts = { name, delta, scanId: reversal.id, reversesEntryId: id, at: reversal.recordedAt, correlationId }
    const one = newEntry(current, definition, facts)
    entries.push(one)
    current = one.pass
  }
  await writeEntries(tx, workspaceId, entries, reversal.recordedAt)
}

const NO_BALANCES = {}

/** Returns the current balances of a pass, and how the scan changed them; undefined if the pass has no balances. */
export async function findBalances(
  pass: StoredPass | undefined,
  scanId: string,
  { store, workspaceId, services }: RequestContext,
): Promise<ScanBalance[] | undefined> {
  if (!pass?.hasBalances) return undefined
  const definition = await services.definitions.find(workspaceId, pass.templateVersionId)
  const entries = await store.balanceEntries.listOfScan(workspaceId, scanId)
  const deltas = new Map(entries.map(({ name, delta }) => [name, delta]))
  return Object.entries(definition?.balances ?? {}).map(([name, balance]) => ({
    name,
    value: balanceValue(balance, name, pass.balanceSums),
    delta: deltas.get(name) ?? 0,
  }))
}
