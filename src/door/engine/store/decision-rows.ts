import { badgeOf } from '../../../core/rules/door/outcome.ts'
import type { Counts, Decision } from '../engine.ts'
import {
  type JournalEntry,
  KEPT_CONFLICTS,
  RECENT_DECISIONS,
  type StoredDecision,
  type Transaction,
  type UploadResult,
} from './engine-store.ts'
import { metaOf, removeSeqs, setMeta } from './rows.ts'
import { changeZone, learnZones } from './zone-rows.ts'

export const NO_SCANS: Counts = { accepted: 0, turnedAway: 0, left: 0 }

export async function decisionOf(tx: Transaction, externalRef: string): Promise<StoredDecision | undefined> {
  return (await tx.find('decisions', 'externalRef', externalRef))[0]
}

async function putDecision(tx: Transaction, decision: Decision): Promise<void> {
  const known = await decisionOf(tx, decision.externalRef)
  if (known) await tx.put('decisions', [{ ...known, decision, ...(decision.conflict !== null && { conflict: 1 }) }])
}

/**
 * Deletes an attempt, and stores the decision on it with its effects. If a decision on the attempt is already stored,
 * keeps that decision.
 */
export async function record(
  tx: Transaction,
  { decision, entry }: { decision: Decision; entry: JournalEntry | null },
): Promise<void> {
  const { externalRef, zone, readAt } = decision
  await tx.remove('attempts', [externalRef])
  if (await decisionOf(tx, externalRef)) return
  if (entry) await tx.put('journal', [entry])
  if (entry?.waits !== undefined) await changeZone(tx, entry)
  else if (zone) await learnZones(tx, [zone], { at: readAt })
  const { movement } = entry ?? {}
  await tx.put('decisions', [{ externalRef, decision, ...(movement && { movement }) }])
  await count(tx, countsOf(decision))
}

/**
 * Returns the counts that a decision adds. A code that matches several passes adds 0: the user then chooses a pass,
 * and that scan is counted.
 */
function countsOf(decision: Decision): Counts {
  const { tone, word } = badgeOf(decision)
  const isExit = word === 'left'
  return {
    accepted: tone === 'yes' && !isExit ? 1 : 0,
    turnedAway: tone === 'no' ? 1 : 0,
    left: isExit ? 1 : 0,
  }
}

async function count(tx: Transaction, { accepted, turnedAway, left }: Counts): Promise<void> {
  const before = { ...NO_SCANS, ...(await metaOf(tx, 'counts')) }
  await setMeta(tx, 'counts', {
    accepted: before.accepted + accepted,
    turnedAway: before.turnedAway + turnedAway,
    left: before.left + left,
  })
}

/** Adds a scan to the counts (`sign` 1) or removes it (-1). Ignores a scan that the phone made as another door. */
async function recount(tx: Transaction, scan: StoredDecision | undefined, sign: 1 | -1): Promise<void> {
  if (!scan || scan.before !== undefined) return
  const { accepted, left } = countsOf(scan.decision)
  await count(tx, { accepted: accepted * sign, turnedAway: 0, left: left * sign })
}

export async function recordUndo(tx: Transaction, decision: Decision, entry: JournalEntry): Promise<void> {
  const { externalRef } = entry.undoes!
  const scan = await decisionOf(tx, externalRef)
  if (scan) await putDecision(tx, { ...scan.decision, isUndone: true })
  const [undone] = await tx.find('journal', 'externalRef', externalRef)
  const { waits = entry.waits } = undone ?? {}
  const { movement = entry.movement } = scan ?? {}
  const reversal = { ...entry, projectId: waits!, waits, ...(movement && { movement }) }
  await tx.put('journal', [reversal])
  await changeZone(tx, reversal)
  await tx.put('decisions', [{ externalRef: decision.externalRef, decision }])
  await recount(tx, scan, -1)
}

export async function settleUpload(tx: Transaction, result: UploadResult): Promise<void> {
  const { externalRef, recordedAt, scanId, conflict = null, rejection, isHeld, isOfAnother } = result
  const [entry] = await tx.find('journal', 'externalRef', externalRef)
  if (!entry) return
  const { waits, ...rest } = entry
  await tx.put('journal', [{ ...rest, recordedAt, rejection, isHeld, isOfAnother }])
  if (isHeld) {
    // Undo the change that this entry made to the number of people inside. Otherwise, an exit that the server rejected
    // would lower that number.
    if (waits !== undefined) await changeZone(tx, entry, -1)
    return
  }
  if (rejection !== undefined) {
    // Remove the reversal of a rejected adjustment. Otherwise, the server would apply the reversal alone.
    if (entry.adjustment) await removeSeqs(tx, 'journal', await tx.find('journal', 'externalRef', undoRefOf(entry)))
    if (entry.undoes) await rejectUndo(tx, entry, { message: rejection, isOfAnother })
  }
  const stored = await decisionOf(tx, externalRef)
  if (!stored) return
  const { decision } = stored
  await putDecision(tx, { ...decision, scanId: scanId ?? decision.scanId, conflict, isPending: false })
}

/** Returns the `externalRef` of an adjustment's reversal. All attempts to reverse the adjustment use this reference. */
export function undoRefOf({ externalRef }: Pick<JournalEntry, 'externalRef'>): string {
  return `${externalRef}+undone`
}

/** Stores that the server rejected a reversal, with the reason, and shows the scan as accepted again. */
async function rejectUndo(
  tx: Transaction,
  { externalRef, undoes }: JournalEntry,
  { message, isOfAnother }: { message: string; isOfAnother: boolean | undefined },
): Promise<void> {
  const [scan, undo] = [await decisionOf(tx, undoes!.externalRef), await decisionOf(tx, externalRef)]
  if (scan) await putDecision(tx, { ...scan.decision, isUndone: false })
  const failure = isOfAnother ? 'of_another' : 'refused'
  if (undo) await putDecision(tx, { ...undo.decision, result: 'error', failure, message })
  await recount(tx, scan, 1)
}

/** Deletes old decisions. Keeps the newest decisions, pending decisions, and the newest conflicts. */
export async function trim(tx: Transaction): Promise<void> {
  if ((await tx.count('decisions')) <= RECENT_DECISIONS * 2) return
  let conflicts = 0
  const older = (await tx.list('decisions')).reverse().slice(RECENT_DECISIONS)
  const isOver = ({ decision, conflict }: StoredDecision) => {
    if (conflict) conflicts += 1
    return !decision.isPending && !(conflict && conflicts <= KEPT_CONFLICTS)
  }
  await removeSeqs(tx, 'decisions', older.filter(isOver))
}
