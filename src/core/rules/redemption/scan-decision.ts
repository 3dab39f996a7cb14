import type { RedemptionPolicy } from '../../contract/redemption.ts'
import type { LedgerReason, LedgerResult, ScanReasonCode, ScanResult } from '../../contract/scan-shapes.ts'
import { choosePlace, debitOf, evaluateRedemption, type RedemptionDebit, windowUses } from './redemption.ts'
import type { PlacedAttempt, RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'
import { placesInTime } from './redemption-windows.ts'

/** What was found for a payload or an id. */
export interface ScanFacts {
  /** When the attempt is made. */
  realTime: Date
  /** YYYY-MM-DD, where an operator evaluates as of another date. */
  validityDate?: string | undefined
  /** How many passes were named. */
  matchCount: number
  /** The one pass that was named; null where it is none or several. */
  found: FoundPass | null
}

/** The one pass that a code names, with what its decision needs. */
export interface FoundPass {
  plan: RedemptionPlan
  history: RedemptionHistory
  /** It belongs to another project than the one that is scanned for, by this name; null for no project at all. */
  elsewhere?: { projectName: string | null } | undefined
  /** The payload is one that the pass carried once and carries no more. */
  isStaleCode?: boolean | undefined
}

/** What became of an attempt, and why. */
export interface ScanDecision {
  result: ScanResult
  reasonCode: ScanReasonCode
  /** The operational time. */
  at: Date
  /** Null where no single pass was found. */
  attempt: PlacedAttempt | null
  /** What the attempt uses up once it is accepted, by whomever; null where no single pass was found. */
  debit: RedemptionDebit | null
}

/** The decision over an attempt: every check of a scan in its order, for servers and devices alike. */
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

/** When the use was taken that stands in the way; whoever knows where adds it to the message. */
export function decidingUse({ reasonCode, attempt }: ScanDecision, { found }: ScanFacts): Date | null {
  return attempt && found && firstUseAt(reasonCode, attempt, found.history)
}

/** When a use was first taken that stands in the way now: of the context, the pass, the period or the window. */
export function firstUseAt(code: ScanReasonCode, attempt: PlacedAttempt, history: RedemptionHistory): Date | null {
  const { policy, windows, period, areWindowsContexts } = attempt
  if (code === 'already_scanned' && !areWindowsContexts) return history.contextFirstAt
  if (code !== 'quota_exhausted' && code !== 'already_scanned') return null
  if (isUsedUpForGood(policy, history)) return history.firstAt
  if (period && isPeriodFull(attempt, history)) return history.counts.get(period.key)?.firstAt ?? null
  return windowUses(windows, history).firstAt
}

/** Whether the uses of the pass are at their end. */
export function isUsedUpForGood(
  policy: RedemptionPolicy | null,
  { total }: RedemptionHistory,
): policy is RedemptionPolicy & { maxUses: number } {
  return policy?.maxUses !== undefined && total >= policy.maxUses
}

/** Whether those of its day, week or month are. */
export function isPeriodFull({ policy, period }: PlacedAttempt, { counts }: RedemptionHistory): boolean {
  return period !== null && (counts.get(period.key)?.count ?? 0) >= policy!.perPeriod!.count
}

const ledgerReasons: Record<ScanReasonCode, LedgerReason> = {
  valid: 'valid',
  stale_identifier: 'unverifiable',
  already_scanned: 'already_used',
  not_active: 'not_active',
  expired: 'expired',
  revoked: 'revoked',
  wrong_scope: 'wrong_project',
  not_valid_context: 'out_of_window',
  out_of_window: 'out_of_window',
  quota_exhausted: 'quota_exhausted',
  cooldown: 'cooldown',
  no_match: 'no_match',
  multiple_matches: 'multiple_matches',
}

/** The reason of an attempt as the ledger shows it. */
export function ledgerReason(code: ScanReasonCode): LedgerReason {
  return ledgerReasons[code]
}

/** The result of an attempt as the ledger shows it: whatever was not accepted is denied. */
export function ledgerResult(result: ScanResult): LedgerResult {
  return result === 'accepted' || result === 'reversal' ? result : 'denied'
}

/** What the operator was told of an item of the ledger: reasons tell the kinds of rejection apart. */
export function resultOf({ result, reason }: { result: LedgerResult; reason: LedgerReason | null }): ScanResult {
  if (result !== 'denied') return result
  return (reason && rejections[reason]) ?? 'denied'
}

/** Why, in the words of who was told: of an offline scan where the device decided otherwise, the reason of the device. */
export function reasonCodeOf({
  reasonCode,
  reason,
}: {
  reasonCode: ScanReasonCode | null
  reason: LedgerReason | null
}): ScanReasonCode | null {
  return reasonCode ?? (reason && reasonCodes[reason])
}

/** Where the ledger has one reason for several codes, the one that says the same by itself. */
const reasonCodes: Record<LedgerReason, ScanReasonCode> = {
  valid: 'valid',
  already_used: 'already_scanned',
  no_match: 'no_match',
  multiple_matches: 'multiple_matches',
  not_active: 'not_active',
  expired: 'expired',
  revoked: 'revoked',
  wrong_project: 'wrong_scope',
  out_of_window: 'out_of_window',
  quota_exhausted: 'quota_exhausted',
  cooldown: 'cooldown',
  unverifiable: 'stale_identifier',
}

/** Rejections that have a result of their own. */
export const rejections: Partial<Record<LedgerReason, ScanResult>> = {
  already_used: 'duplicate',
  no_match: 'unknown',
  multiple_matches: 'ambiguous',
}
