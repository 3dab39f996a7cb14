import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import type { ScanReasonCode, ScanResult } from '../../contract/schemas/scan-shapes.ts'
import { choosePlace, debitOf, evaluateRedemption, type RedemptionDebit, windowUses } from './redemption.ts'
import type { PlacedAttempt, RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'
import { placesInTime } from './redemption-windows.ts'

export interface ScanFacts {
  realTime: Date
  /** YYYY-MM-DD, if the scan is evaluated as of another date. */
  validityDate?: string | undefined
  matchCount: number
  /** The single match, or `null` if there is none or several. */
  found: FoundPass | null
}

export interface FoundPass {
  plan: RedemptionPlan
  history: RedemptionHistory
  /** Set if the pass belongs to a project other than the scanned one; the name is `null` without a project. */
  elsewhere?: { projectName: string | null } | undefined
  /** Whether the payload is a stale code of the pass. */
  isStaleCode?: boolean | undefined
}

export interface ScanDecision {
  result: ScanResult
  reasonCode: ScanReasonCode
  /** The time of the scan in the ledger (`scannedAt`). */
  at: Date
  /** `null` if no single pass matches. */
  attempt: PlacedAttempt | null
  /** The debit to store if the server or a device accepted the attempt; `null` if no single pass matches. */
  debit: RedemptionDebit | null
}

/** Decides an attempt with all checks of a scan in order. Servers and devices share this function. */
export function decideScan({ realTime, validityDate, matchCount, found }: ScanFacts): ScanDecision {
  if (!found) {
    const [{ at }] = placesInTime(null, realTime, validityDate)
    const nothing = { at, attempt: null, debit: null }
    if (matchCount > 1) return { result: 'ambiguous', reasonCode: 'multiple_matches', ...nothing }
    return { result: 'unknown', reasonCode: 'no_match', ...nothing }
  }
  const { plan, history, elsewhere, isStaleCode } = found
  const attempt = choosePlace(plan, history)
  const placed = { at: attempt.at, attempt, debit: debitOf(attempt, history) }
  if (elsewhere) return { result: 'denied', reasonCode: 'wrong_scope', ...placed }
  if (isStaleCode) return { result: 'denied', reasonCode: 'stale_identifier', ...placed }
  const { result, reasonCode } = evaluateRedemption(attempt, history)
  return { result, reasonCode, ...placed }
}

/** Returns the time of the use that caused the rejection, so that the caller can add the place of that use to the message. */
export function decidingUse({ reasonCode, attempt }: ScanDecision, { found }: ScanFacts): Date | null {
  return attempt && found && firstUseAt(reasonCode, attempt, found.history)
}

/**
 * Returns the time of the first use that counted toward the rejection: in the scan context, of the pass, in the period, or in
 * the windows.
 */
export function firstUseAt(code: ScanReasonCode, attempt: PlacedAttempt, history: RedemptionHistory): Date | null {
  const { policy, windows, period, areWindowsContexts } = attempt
  if (code === 'already_scanned' && !areWindowsContexts) return history.contextFirstAt
  if (code !== 'quota_exhausted' && code !== 'already_scanned') return null
  if (isUsedUpForGood(policy, history)) return history.firstAt
  if (period && isPeriodFull(attempt, history)) return history.counts.get(period.key)?.firstAt ?? null
  return windowUses(windows, history).firstAt
}

export function isUsedUpForGood(
  policy: RedemptionPolicy | null,
  { total }: RedemptionHistory,
): policy is RedemptionPolicy & { maxUses: number } {
  return policy?.maxUses !== undefined && total >= policy.maxUses
}

export function isPeriodFull({ policy, period }: PlacedAttempt, { counts }: RedemptionHistory): boolean {
  return period !== null && (counts.get(period.key)?.count ?? 0) >= policy!.perPeriod!.count
}
