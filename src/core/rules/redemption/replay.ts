import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import type { LedgerReason, LedgerResult } from '../../contract/schemas/scan-shapes.ts'
import type { PassStatus } from '../pass/pass-status.ts'
import type { Direction } from '../zones/presence.ts'
import { planRedemption } from './redemption-plan.ts'
import { contains } from './redemption-windows.ts'
import { decideScan, type ScanDecision } from './scan-decision.ts'
import { ledgerReason } from './scan-reasons.ts'
import { createUseRecord, type RecordedUse, type UseRecord } from './use-record.ts'

export interface LedgerEntry {
  id: string
  result: LedgerResult
  reason: LedgerReason | null
  /** The server's own decision, if the device decided differently. */
  conflict: LedgerReason | null
  scannedAt: Date
  recordedAt: Date
  scanContextKey: string | null
  /** The validity date (YYYY-MM-DD), if the scan was evaluated as of a date instead of its time. */
  validateAsOf: string | null
  /** The policy of the pass at the time of the scan. */
  redemption: RedemptionPolicy | null
  reversesScanId: string | null
  /** The direction of a movement in a zone; `null` for other attempts. */
  direction: Direction | null
  /** For a re-entry, the ID of the scan whose use the re-entry continued. */
  useScanId: string | null
}

/** The recorded result of an attempt and the result under the other policy. */
export interface ReplayedScan<Entry> {
  entry: Entry
  from: LedgerReason
  to: LedgerReason
}

export interface ReplayRequest {
  policy: RedemptionPolicy
  /** The range of scan times to evaluate again, inclusive. Attempts at other times keep their result. */
  from: Date
  to: Date
  /** The current expiry of the pass. */
  expiresAt: Date | null
}

/** The reasons that never depend on the policy. (`expired` and `revoked` do if the recorded policy caused them.) */
const FIXED: LedgerReason[] = ['no_match', 'multiple_matches', 'wrong_project', 'unverifiable', 'not_active']

/**
 * Evaluates the ledger of one pass again under another policy, with the same rules that decide scans (decisions/0010).
 * @param entries all entries of the pass, in the order of recording
 */
export function* replayPass<Entry extends LedgerEntry>(
  entries: Iterable<Entry>,
  { policy, from, to, expiresAt }: ReplayRequest,
): Generator<ReplayedScan<Entry>> {
  const before = new Side()
  const after = new Side()
  let isVoidForGood = false
  for (const entry of entries) {
    if (entry.result === 'reversal') {
      before.takeBack(entry.reversesScanId!)
      after.takeBack(entry.reversesScanId!)
      continue
    }
    const isEvaluated = entry.scannedAt >= from && entry.scannedAt <= to
    const wasAccepted = entry.result === 'accepted'
    const was = entry.conflict ?? entry.reason!
    // Evaluate the entry under the recorded policy, too. The result shows whether that policy caused `expired`, and
    // which debits affect later entries.
    const asThen = () => evaluate(entry, entry.redemption, before.uses, 'ISSUED')
    const isOver = expiresAt !== null && expiresAt <= entry.scannedAt
    if (was === 'revoked' && !before.isVoid) isVoidForGood = true
    const isFixed =
      FIXED.includes(was) ||
      entry.direction === 'out' ||
      (was === 'revoked' && isVoidForGood) ||
      (was === 'expired' && (isOver || asThen().reasonCode !== 'expired'))
    const isReentry = entry.useScanId !== null && after.has(entry.useScanId)
    // If the recorded policy accepts the attempt, a zone or a balance denied it. A new policy cannot change that.
    const canBeDecidedElsewhere = was === 'quota_exhausted' || (entry.direction === 'in' && was !== 'valid')
    const isDecidedElsewhere = canBeDecidedElsewhere && asThen().reasonCode === 'valid'
    const replayed = evaluate(entry, policy, after.uses, after.isVoid ? 'VOID' : 'ISSUED')
    const is = isFixed || isReentry || isDecidedElsewhere || !isEvaluated ? was : ledgerReason(replayed.reasonCode)
    // If the new policy does not change whether the attempt is valid, keep what happened at the door: an offline device
    // can have admitted a pass that the server rejected.
    const isAccepted = (was === 'valid') === (is === 'valid') ? wasAccepted : is === 'valid'
    if (wasAccepted && entry.useScanId === null) before.use(entry, asThen())
    // If the pass became void outside the evaluated range, keep it void: attempts outside the range keep their result.
    if (before.isVoid && !isEvaluated) isVoidForGood = true
    if (isAccepted && !isReentry) after.use(entry, replayed)
    if (isEvaluated) yield { entry, from: was, to: is }
  }
}

/** The uses of the pass under one of the two policies. */
class Side {
  readonly uses = createUseRecord()
  /** Whether the policy voided the pass after its last use. */
  isVoid = false
  private readonly byScan = new Map<string, RecordedUse>()

  use(entry: LedgerEntry, { at, attempt, debit }: ScanDecision): void {
    if (entry.direction === 'out') return
    const use = {
      at: isPlacedAlike(entry, attempt) ? entry.scannedAt : at,
      scanContextKey: entry.scanContextKey,
      isDated: entry.validateAsOf !== null,
      debitedWindow: (attempt?.isDebitStored && debit?.window?.key) || null,
    }
    this.byScan.set(entry.id, use)
    this.uses.add(use)
    if (debit?.exhausts) this.isVoid = true
  }

  has(scanId: string): boolean {
    return this.byScan.has(scanId)
  }

  takeBack(scanId: string): void {
    const use = this.byScan.get(scanId)
    if (!use) return
    this.byScan.delete(scanId)
    this.uses.remove(use)
  }
}

/**
 * Whether the recorded scan time is in the window that the replay selected. For a validity date, the replay can select
 * another window than the original scan did.
 */
function isPlacedAlike({ scannedAt }: LedgerEntry, attempt: ScanDecision['attempt']): boolean {
  return !attempt?.selected || contains(attempt.selected, scannedAt)
}

/** Evaluates an attempt under a policy. Ignores the pass's own expiry, because `replayPass` handles it. */
function evaluate(
  { scannedAt, recordedAt, validateAsOf, scanContextKey }: LedgerEntry,
  policy: RedemptionPolicy | null,
  uses: UseRecord,
  status: PassStatus,
): ScanDecision {
  const validityDate = validateAsOf ?? undefined
  // The ledger lacks the real time of a scan with a validity date, so use the time of its recording, which is close.
  const realTime = validityDate === undefined ? scannedAt : recordedAt
  const plan = planRedemption({ status, expiresAt: null, policy, realTime, validityDate, scanContextKey })
  const found = { plan, history: uses.historyOf(plan) }
  return decideScan({ realTime, validityDate, matchCount: 1, found })
}
