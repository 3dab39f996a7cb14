import { DateTime } from 'luxon'
import type { RedemptionPolicy } from '../../contract/redemption.ts'
import type { LedgerReason, LedgerResult, ScanReasonCode, ScanResult } from '../../contract/scan-shapes.ts'
import {
  choosePlace,
  debitOf,
  evaluateRedemption,
  isPastExpiry,
  type RedemptionDebit,
  windowUses,
} from './redemption.ts'
import type { PlacedAttempt, RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'
import { placesInTime, windowDates, windowsOf, zoneOf } from './redemption-windows.ts'

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

/** What to tell the operator. */
export function decisionMessage(decision: ScanDecision, { matchCount, found }: ScanFacts, firstPlace?: string): string {
  const { reasonCode, attempt } = decision
  if (!found || !attempt) return matchCount > 1 ? ambiguousMessage(matchCount) : plainMessage('no_match')
  if (found.elsewhere) return wrongProjectMessage(found.elsewhere.projectName)
  return redemptionMessage(reasonCode, { attempt, history: found.history, firstPlace })
}

/** Rejections that need nothing but the attempt itself. */
const plainMessages = {
  no_match: 'Unknown code: no pass has it.',
  stale_identifier: 'This code is out of date. Ask for the current pass.',
  revoked: 'This pass was voided.',
} satisfies Partial<Record<ScanReasonCode, string>>

/** What the message of a scan may name. */
export interface MessageFacts {
  attempt: PlacedAttempt
  history: RedemptionHistory
  /** Where it was first used, in the words of whoever scanned it then. */
  firstPlace?: string | undefined
}

function ambiguousMessage(count: number): string {
  return `${count} passes have this code. Choose one.`
}

function wrongProjectMessage(projectName: string | null): string {
  return projectName === null ? 'This pass belongs to no project.' : `This pass belongs to ${projectName}.`
}

function plainMessage(code: keyof typeof plainMessages): string {
  return plainMessages[code]
}

/** What to tell the operator about a decision of the policy, in a sentence or two. */
function redemptionMessage(code: ScanReasonCode, facts: MessageFacts): string {
  const { attempt, history } = facts
  if (code in plainMessages) return plainMessages[code as keyof typeof plainMessages]
  switch (code) {
    case 'expired':
      return expiredMessage(attempt, history)
    case 'not_active':
      return attempt.status === 'FAILED' ? 'This pass could not be issued.' : 'This pass is not issued yet.'
    case 'not_valid_context':
      return `Not valid on ${attempt.validityDate}.${validDates(attempt)}`
    case 'out_of_window':
      return windowMessage(attempt)
    case 'quota_exhausted':
      return `${quotaMessage(attempt, history)}${firstUse(code, facts)}.`
    case 'cooldown':
      return cooldownMessage(attempt, history)
    case 'already_scanned':
      return `Already used${firstUse(code, facts)}.`
    default:
      return `Valid.${countedUse(attempt, history)}`
  }
}

/** What to tell the operator of a scan that was taken back. */
export function reversalMessage(scannedAt: Date, policy: RedemptionPolicy | null): string {
  return `The scan of ${describeMoment(scannedAt, { policy })} was taken back.`
}

/** A moment as people at a door read it: in the time zone of the policy, where it has one. */
function describeMoment(at: Date, { policy }: Pick<PlacedAttempt, 'policy'>): string {
  const local = DateTime.fromJSDate(at, { zone: zoneOf(policy) }).setLocale('en')
  return `${local.toFormat("d LLL yyyy 'at' HH:mm:ss")} ${local.zoneName}`
}

function expiredMessage(attempt: PlacedAttempt, { firstAt }: RedemptionHistory): string {
  const { status, expiresAt, policy } = attempt
  if (expiresAt && (status === 'EXPIRED' || isPastExpiry(attempt)))
    return `Expired on ${describeMoment(expiresAt, attempt)}.`
  if (!policy?.activation || !firstAt) return 'Expired.'
  const hours = policy.activation.validForHours
  return `Expired: it was valid for ${hours} hours from its first use on ${describeMoment(firstAt, attempt)}.`
}

const SHOWN_DATES = 5

function validDates({ policy, at }: PlacedAttempt): string {
  const today = at.toISOString().slice(0, 10)
  const coming = windowDates(policy)
    .filter((date) => date >= today)
    .sort()
  if (coming.length === 0) return ''
  const rest = coming.length > SHOWN_DATES ? ` and ${coming.length - SHOWN_DATES} more` : ''
  return ` Valid on ${coming.slice(0, SHOWN_DATES).join(', ')}${rest}.`
}

function windowMessage(attempt: PlacedAttempt): string {
  const time = attempt.at.getTime()
  const all = windowsOf(attempt.policy)
  const [next] = all.filter(({ from }) => from > time).sort((a, b) => a.from - b.from)
  if (next) return `Not valid yet. Valid from ${describeMoment(new Date(next.from), attempt)}.`
  const [last] = all.filter(({ to }) => to <= time).sort((a, b) => b.to - a.to)
  return last ? `No longer valid, since ${describeMoment(new Date(last.to), attempt)}.` : 'Not valid at this time.'
}

function quotaMessage(attempt: PlacedAttempt, history: RedemptionHistory): string {
  const { policy, windows } = attempt
  if (isUsedUpForGood(policy, history)) {
    return policy.maxUses === 1 ? 'Already used' : `Used up: ${policy.maxUses} of ${policy.maxUses} uses, the first`
  }
  if (policy?.perPeriod && isPeriodFull(attempt, history)) {
    const { unit, count } = policy.perPeriod
    return `Used up for this ${unit}: ${count} of ${count} uses, the first`
  }
  const uses = windows.reduce((sum, { maxUses }) => sum + (maxUses ?? 0), 0)
  return `Used up for this time: ${uses} of ${uses} uses, the first`
}

/** When a use was first taken that stands in the way now: of the context, the pass, the period or the window. */
function firstUseAt(code: ScanReasonCode, attempt: PlacedAttempt, history: RedemptionHistory): Date | null {
  const { policy, windows, period, areWindowsContexts } = attempt
  if (code === 'already_scanned' && !areWindowsContexts) return history.contextFirstAt
  if (code !== 'quota_exhausted' && code !== 'already_scanned') return null
  if (isUsedUpForGood(policy, history)) return history.firstAt
  if (period && isPeriodFull(attempt, history)) return history.counts.get(period.key)?.firstAt ?? null
  return windowUses(windows, history).firstAt
}

function isUsedUpForGood(
  policy: RedemptionPolicy | null,
  { total }: RedemptionHistory,
): policy is RedemptionPolicy & { maxUses: number } {
  return policy?.maxUses !== undefined && total >= policy.maxUses
}

function isPeriodFull({ policy, period }: PlacedAttempt, { counts }: RedemptionHistory): boolean {
  return period !== null && (counts.get(period.key)?.count ?? 0) >= policy!.perPeriod!.count
}

function firstUse(code: ScanReasonCode, { attempt, history, firstPlace }: MessageFacts): string {
  const at = firstUseAt(code, attempt, history)
  return at ? ` on ${describeMoment(at, attempt)}${firstPlace ? `, ${firstPlace}` : ''}` : ''
}

function cooldownMessage(attempt: PlacedAttempt, { previousAt, nextAt }: RedemptionHistory): string {
  const { at, policy } = attempt
  const interval = (policy?.minIntervalMinutes ?? 0) * 60_000
  if (previousAt && at.getTime() - previousAt.getTime() < interval) {
    const again = new Date(previousAt.getTime() + interval)
    return `Too soon: last used on ${describeMoment(previousAt, attempt)}. Valid again on ${describeMoment(again, attempt)}.`
  }
  return `Too close to another use${nextAt ? ` on ${describeMoment(nextAt, attempt)}` : ''}.`
}

function countedUse({ policy, windows, period }: PlacedAttempt, history: RedemptionHistory): string {
  if (policy?.maxUses !== undefined && policy.maxUses > 1) return ` Use ${history.total + 1} of ${policy.maxUses}.`
  if (policy?.perPeriod && period) {
    const use = (history.counts.get(period.key)?.count ?? 0) + 1
    return ` Use ${use} of ${policy.perPeriod.count} this ${policy.perPeriod.unit}.`
  }
  const debited = windows.find(({ maxUses }) => maxUses !== null && maxUses > 1)
  if (debited) return ` Use ${(history.counts.get(debited.key)?.count ?? 0) + 1} of ${debited.maxUses} at this time.`
  return ''
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
