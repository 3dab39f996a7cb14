import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import type { ScanReasonCode, ScanResult } from '../../contract/schemas/scan-shapes.ts'
import { coveredPlace, evaluatePresence, type PresenceDecision, type PresenceFacts } from '../zones/presence.ts'
import {
  choosePlace,
  debitOf,
  evaluateRedemption,
  findRejection,
  type RedemptionDebit,
  useChecks,
  validityChecks,
  windowUses,
} from './redemption.ts'
import type { PlacedAttempt, RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'
import { placesInTime } from './redemption-windows.ts'

export interface ScanFacts {
  realTime: Date
  /** The validity date (YYYY-MM-DD), if the scan is evaluated as of a date instead of its time. */
  validityDate?: string | undefined
  matchCount: number
  /** The only pass that matches the payload, or `null` if no pass or several passes match. */
  found: FoundPass | null
}

export interface FoundPass {
  plan: RedemptionPlan
  history: RedemptionHistory
  /** Set if the pass does not belong to the scanned project. The name is `null` if the pass has no project. */
  elsewhere?: { projectName: string | null } | undefined
  /** Whether the payload is a former code of the pass, which is no longer valid. */
  isStaleCode?: boolean | undefined
  presence?: PresenceFacts | undefined
  /** Whether a rule debits more from a balance than the pass has. */
  isUncovered?: boolean | undefined
}

export interface ScanDecision {
  result: ScanResult
  reasonCode: ScanReasonCode
  /** The time of the scan in the ledger (`scannedAt`). */
  at: Date
  /** The evaluated attempt; `null` unless exactly one pass matches. */
  attempt: PlacedAttempt | null
  /**
   * The debit to store if the server or a device accepted the attempt. `null` for exits and re-entries, which debit no
   * use, and if not exactly one pass matches.
   */
  debit: RedemptionDebit | null
  /** The decision of the zone; `null` for a scan without a zone, and if not exactly one pass matches. */
  presence: PresenceDecision | 'full' | null
  /** Whether the attempt is a re-entry, which continues the use of the last entry. */
  isReentry: boolean
  /** Whether the attempt was denied because a balance is too low. */
  isUncovered?: true
}

/** Decides an attempt with all checks of a scan in order. Servers and devices share this function. */
export function decideScan({ realTime, validityDate, matchCount, found }: ScanFacts): ScanDecision {
  if (!found) {
    const [{ at }] = placesInTime(null, realTime, validityDate)
    const nothing = { at, attempt: null, debit: null, presence: null, isReentry: false }
    if (matchCount > 1) return { result: 'ambiguous', reasonCode: 'multiple_matches', ...nothing }
    return { result: 'unknown', reasonCode: 'no_match', ...nothing }
  }
  const { plan, history, elsewhere, isStaleCode, isUncovered, presence: facts } = found
  if (facts) return decideMovement(found, facts)
  const attempt = choosePlace(plan, history)
  const placed = { at: attempt.at, attempt, debit: debitOf(attempt, history), presence: null, isReentry: false }
  if (elsewhere) return { result: 'denied', reasonCode: 'wrong_scope', ...placed }
  if (isStaleCode) return { result: 'denied', reasonCode: 'stale_identifier', ...placed }
  const { result, reasonCode } = evaluateRedemption(attempt, history)
  if (result === 'accepted' && isUncovered) return { ...UNCOVERED, ...placed }
  return { result, reasonCode, ...placed }
}

const UNCOVERED = { result: 'denied', reasonCode: 'quota_exhausted', isUncovered: true } as const
const VALID = { result: 'accepted', reasonCode: 'valid' } as const

/**
 * Decides a movement. A pass that is inside can always leave, regardless of its status, policy, and code. An entry must
 * pass the policy, except that a re-entry debits no use. Only an attempt that debits a use changes balances.
 */
function decideMovement(
  { plan, history, elsewhere, isStaleCode, isUncovered }: FoundPass,
  facts: PresenceFacts,
): ScanDecision {
  const presence = evaluatePresence(facts)
  const isExit = facts.direction === 'out'
  const covered = isExit ? undefined : coveredPlace(plan, facts)
  const attempt = covered ?? choosePlace(plan, history)
  const isReentry = covered !== undefined
  const debit = isExit || isReentry ? null : debitOf(attempt, history)
  const placed = { at: attempt.at, attempt, debit, presence, isReentry }
  if (elsewhere) return { result: 'denied', reasonCode: 'wrong_scope', ...placed }
  if (isExit && presence === 'possible') return { ...VALID, ...placed }
  if (isStaleCode) return { result: 'denied', reasonCode: 'stale_identifier', ...placed }
  if (presence === 'not_inside') return { result: 'denied', reasonCode: 'not_valid_context', ...placed }
  const isInvalid = findRejection(validityChecks, attempt, history)
  if (isInvalid) return { ...isInvalid, ...placed }
  if (presence === 'already_inside') return { result: 'duplicate', reasonCode: 'already_scanned', ...placed }
  const isUsed = isReentry ? undefined : findRejection(useChecks, attempt, history)
  if (isUsed) return { ...isUsed, ...placed }
  if (isUncovered && debit) return { ...UNCOVERED, ...placed }
  if (facts.isFull) return { result: 'denied', reasonCode: 'quota_exhausted', ...placed, presence: 'full' }
  return { ...VALID, ...placed }
}

/**
 * Returns the time of the use that caused the rejection, so that the caller can add the place of that use to the
 * message.
 */
export function decidingUse(decision: ScanDecision, { found }: ScanFacts): Date | null {
  const { reasonCode, attempt, presence, isUncovered } = decision
  if (isUncovered || presence === 'already_inside' || presence === 'full') return null
  return attempt && found && firstUseAt(reasonCode, attempt, found.history)
}

/**
 * Returns the time of the first use that counted toward the rejection. The use can be the first in the scan context, of
 * the pass, in the period, or in the windows. Returns `null` for other rejections.
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
