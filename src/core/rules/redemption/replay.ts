import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import type { LedgerReason, LedgerResult } from '../../contract/schemas/scan-shapes.ts'
import type { PassStatus } from '../pass/pass-status.ts'
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
  /** YYYY-MM-DD, if it was evaluated for a date. */
  validateAsOf: string | null
  /** The policy at that time. */
  redemption: RedemptionPolicy | null
  reversesScanId: string | null
}

/** The recorded result of an attempt and the result under the other policy. */
export interface ReplayedScan<Entry> {
  entry: Entry
  from: LedgerReason
  to: LedgerReason
}

export interface ReplayRequest {
  policy: RedemptionPolicy
  /** The range of operational times to evaluate again, inclusive. Other attempts keep their result. */
  from: Date
  to: Date
  /** The current expiry of the pass. */
  expiresAt: Date | null
}

/** Results that no policy changes. `expired` and `revoked` are also fixed, unless the recorded policy caused them. */
const FIXED: LedgerReason[] = ['no_match', 'multiple_matches', 'wrong_project', 'unverifiable', 'not_active']

/**
 * Evaluates the ledger of one pass again under another policy, with the same rules as for every scan (decisions/0010).
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
    // The recorded policy explains an expiry, and the debits of accepted scans affect later entries.
    const asThen = () => evaluate(entry, entry.redemption, before.uses, 'ISSUED')
    const isOver = expiresAt !== null && expiresAt <= entry.scannedAt
    if (was === 'revoked' && !before.isVoid) isVoidForGood = true
    const isFixed =
      FIXED.includes(was) ||
      (was === 'revoked' && isVoidForGood) ||
      (was === 'expired' && (isOver || asThen().reasonCode !== 'expired'))
    const replayed = evaluate(entry, policy, after.uses, after.isVoid ? 'VOID' : 'ISSUED')
    const is = isFixed || !isEvaluated ? was : ledgerReason(replayed.reasonCode)
    // A device acted on its own knowledge, regardless of the server's result.
    const isAccepted = (was === 'valid') === (is === 'valid') ? wasAccepted : is === 'valid'
    if (wasAccepted) before.use(entry, asThen())
    // A pass that was exhausted before the evaluated range stays void.
    if (before.isVoid && !isEvaluated) isVoidForGood = true
    if (isAccepted) after.use(entry, replayed)
    if (isEvaluated) yield { entry, from: was, to: is }
  }
}

/** The uses under one policy. */
class Side {
  readonly uses = createUseRecord()
  /** Whether the policy voided the pass after its last use. */
  isVoid = false
  private readonly byScan = new Map<string, RecordedUse>()

  use(entry: LedgerEntry, { at, attempt, debit }: ScanDecision): void {
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

  takeBack(scanId: string): void {
    const use = this.byScan.get(scanId)
    if (!use) return
    this.byScan.delete(scanId)
    this.uses.remove(use)
  }
}

/** With a validity date, keep the time of day of the ledger, unless a different window contains the attempt. */
function isPlacedAlike({ scannedAt }: LedgerEntry, attempt: ScanDecision['attempt']): boolean {
  return !attempt?.selected || contains(attempt.selected, scannedAt)
}

/** Evaluates only the policy. Status and expiry of the pass were checked at the time of the scan. */
function evaluate(
  { scannedAt, recordedAt, validateAsOf, scanContextKey }: LedgerEntry,
  policy: RedemptionPolicy | null,
  uses: UseRecord,
  status: PassStatus,
): ScanDecision {
  const validityDate = validateAsOf ?? undefined
  // The real time of a scan with a validity date is not stored. The recording time is close to it.
  const realTime = validityDate === undefined ? scannedAt : recordedAt
  const plan = planRedemption({ status, expiresAt: null, policy, realTime, validityDate, scanContextKey })
  const found = { plan, history: uses.historyOf(plan) }
  return decideScan({ realTime, validityDate, matchCount: 1, found })
}
