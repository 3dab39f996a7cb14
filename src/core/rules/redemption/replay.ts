import type { RedemptionPolicy } from '../../contract/redemption.ts'
import type { LedgerReason, LedgerResult } from '../../contract/scan-shapes.ts'
import type { PassStatus } from '../pass/pass-status.ts'
import { planRedemption } from './redemption-plan.ts'
import { contains } from './redemption-windows.ts'
import { decideScan, ledgerReason, type ScanDecision } from './scan-decision.ts'
import { createUseRecord, type RecordedUse, type UseRecord } from './use-record.ts'

/** An item of the ledger, as it is evaluated again. */
export interface LedgerEntry {
  id: string
  result: LedgerResult
  reason: LedgerReason | null
  /** What the server would have said, where a device decided otherwise. */
  conflict: LedgerReason | null
  scannedAt: Date
  recordedAt: Date
  scanContextKey: string | null
  /** YYYY-MM-DD, where it was made as of a date. */
  validateAsOf: string | null
  /** The policy that held then. */
  redemption: RedemptionPolicy | null
  reversesScanId: string | null
}

/** What an attempt came to, and what it would have come to. */
export interface ReplayedScan<Entry> {
  entry: Entry
  from: LedgerReason
  to: LedgerReason
}

/** What a ledger is evaluated again by. */
export interface ReplayRequest {
  policy: RedemptionPolicy
  /** Attempts of these operational times are evaluated again, both ends included; others stand as they were. */
  from: Date
  to: Date
  /** Of the pass, as it is now. */
  expiresAt: Date | null
}

/** No policy changes them. Of these are `expired` and `revoked`, too, but where the policy of then was the cause. */
const FIXED: LedgerReason[] = ['no_match', 'multiple_matches', 'wrong_project', 'unverifiable', 'not_active']

/**
 * The ledger of one pass evaluated again under another policy, by the rules of every scan (decisions/0010).
 * @param entries all of the pass, in the order in which they were recorded
 */
export function* replayPass<Entry extends LedgerEntry>(
  entries: Iterable<Entry>,
  { policy, from, to, expiresAt }: ReplayRequest,
): Generator<ReplayedScan<Entry>> {
  const before = createSide()
  const after = createSide()
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
    // What the policy of then made of it says why a pass was over; what it was let in for counts for what follows.
    const asThen = () => evaluate(entry, entry.redemption, before.uses, 'ISSUED')
    const isOver = expiresAt !== null && expiresAt <= entry.scannedAt
    if (was === 'revoked' && !before.isVoid) isVoidForGood = true
    const isFixed =
      FIXED.includes(was) ||
      (was === 'revoked' && isVoidForGood) ||
      (was === 'expired' && (isOver || asThen().reasonCode !== 'expired'))
    const anew = evaluate(entry, policy, after.uses, after.isVoid ? 'VOID' : 'ISSUED')
    const is = isFixed || !isEvaluated ? was : ledgerReason(anew.reasonCode)
    // A device that acted on what it knew did so whatever the server thinks of it.
    const isAccepted = (was === 'valid') === (is === 'valid') ? wasAccepted : is === 'valid'
    if (wasAccepted) before.use(entry, asThen())
    // What was used up before stays so: it is not evaluated.
    if (before.isVoid && !isEvaluated) isVoidForGood = true
    if (isAccepted) after.use(entry, anew)
    if (isEvaluated) yield { entry, from: was, to: is }
  }
}

/** What was used under one policy. */
interface Side {
  uses: UseRecord
  /** It was used up, and became void with that. */
  isVoid: boolean
  use(entry: LedgerEntry, decision: ScanDecision): void
  takeBack(scanId: string): void
}

function createSide(): Side {
  const byScan = new Map<string, RecordedUse>()
  return {
    uses: createUseRecord(),
    isVoid: false,
    use(entry, { at, attempt, debit }) {
      const use = {
        at: isPlacedAlike(entry, attempt) ? entry.scannedAt : at,
        scanContextKey: entry.scanContextKey,
        isDated: entry.validateAsOf !== null,
        chargedWindow: (attempt?.isDebitStored && debit?.window?.key) || null,
      }
      byScan.set(entry.id, use)
      this.uses.add(use)
      if (debit?.exhausts) this.isVoid = true
    },
    takeBack(scanId) {
      const use = byScan.get(scanId)
      if (!use) return
      byScan.delete(scanId)
      this.uses.remove(use)
    },
  }
}

/** As of a date only the ledger knows the time of day, unless another window takes it. */
function isPlacedAlike({ scannedAt }: LedgerEntry, attempt: ScanDecision['attempt']): boolean {
  return !attempt?.selected || contains(attempt.selected, scannedAt)
}

/** Status and expiry of the pass were looked at by then: what is evaluated is the policy. */
function evaluate(
  { scannedAt, recordedAt, validateAsOf, scanContextKey }: LedgerEntry,
  policy: RedemptionPolicy | null,
  uses: UseRecord,
  status: PassStatus,
): ScanDecision {
  const validityDate = validateAsOf ?? undefined
  // When a scan as of a date was really made is not kept: it is near to when it was recorded.
  const realTime = validityDate === undefined ? scannedAt : recordedAt
  const plan = planRedemption({ status, expiresAt: null, policy, realTime, validityDate, scanContextKey })
  const found = { plan, history: uses.historyOf(plan) }
  return decideScan({ realTime, validityDate, matchCount: 1, found })
}
