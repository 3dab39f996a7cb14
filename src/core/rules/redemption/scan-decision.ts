import type { ScanReasonCode, ScanResult } from '../../contract/scan-shapes.ts'
import { choosePlace, debitOf, evaluateRedemption, type RedemptionDebit } from './redemption.ts'
import type { PlacedAttempt, RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'
import { placesInTime } from './redemption-windows.ts'
import { ambiguousMessage, firstUseAt, plainMessage, redemptionMessage, wrongProjectMessage } from './scan-message.ts'

/** What was found for a payload or an id. */
export interface ScanFacts {
  /** When the attempt is made. */
  realTime: Date
  /** YYYY-MM-DD, where an operator judges as of another date. */
  validityDate?: string | undefined
  /** How many passes were named. */
  matchCount: number
  /** The one pass that was named; null where it is none or several. */
  found: FoundPass | null
}

export interface FoundPass {
  plan: RedemptionPlan
  history: RedemptionHistory
  /** It belongs to another project than the one that is scanned for, by this name; null for no project at all. */
  elsewhere?: { projectName: string | null } | undefined
  /** The payload is one that the pass carried once and carries no more. */
  isStaleCode?: boolean | undefined
}

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

/** What to tell the steward. */
export function decisionMessage(decision: ScanDecision, { matchCount, found }: ScanFacts, firstPlace?: string): string {
  const { reasonCode, attempt } = decision
  if (!found || !attempt) return matchCount > 1 ? ambiguousMessage(matchCount) : plainMessage('no_match')
  if (found.elsewhere) return wrongProjectMessage(found.elsewhere.projectName)
  return redemptionMessage(reasonCode, { attempt, history: found.history, firstPlace })
}
