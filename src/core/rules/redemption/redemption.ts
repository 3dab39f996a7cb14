import type { PassStatus } from '../../contract/schemas/common.ts'
import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import { limitsUses, type PlacedAttempt, type RedemptionHistory, type RedemptionPlan } from './redemption-plan.ts'
import { expiryDate, neighbours, type Window, windowDates } from './redemption-windows.ts'

/** The checks of an attempt, in order. The first check that fails is the reason of the rejection. */
export const redemptionChecks = [
  'revoked',
  'expired',
  'not_active',
  'not_valid_context',
  'out_of_window',
  'quota_exhausted',
  'cooldown',
  'already_scanned',
] as const
export type RedemptionCheckName = (typeof redemptionChecks)[number]

export type RedemptionDecision = ({ result: 'accepted'; reasonCode: 'valid' } & RedemptionDebit) | RedemptionRejection

export interface RedemptionRejection {
  result: 'denied' | 'duplicate'
  reasonCode: RedemptionCheckName
}

export interface RedemptionDebit {
  window: Window | null
  /** Whether this use is the last one, after which the policy voids the pass. */
  exhausts: boolean
}

/**
 * Returns the attempt at its first possible time in a window with uses left. If no window has uses left, returns the
 * attempt at its last possible time, and the check of that time explains the rejection.
 */
export function choosePlace({ places }: RedemptionPlan, history: RedemptionHistory): PlacedAttempt {
  const free = places.find((place) => place.windows.some((window) => hasUsesLeft(window, place, history)))
  return free ?? places.at(-1)!
}

/** Decides an attempt at the time that `choosePlace` chose. */
export function evaluateRedemption(attempt: PlacedAttempt, history: RedemptionHistory): RedemptionDecision {
  const rejection = findRejection(redemptionChecks, attempt, history)
  return rejection ?? { result: 'accepted', reasonCode: 'valid', ...debitOf(attempt, history) }
}

/** The checks that count earlier uses. An attempt that debits no use skips them. */
export const useChecks = ['quota_exhausted', 'cooldown', 'already_scanned'] as const satisfies RedemptionCheckName[]
export const validityChecks = redemptionChecks.filter((name) => !useChecks.some((check) => check === name))

export function findRejection(
  names: readonly RedemptionCheckName[],
  attempt: PlacedAttempt,
  history: RedemptionHistory,
): RedemptionRejection | undefined {
  const failed = names.find((name) => checks[name](attempt, history)?.isFailed)
  return failed && { result: failed === 'already_scanned' ? 'duplicate' : 'denied', reasonCode: failed }
}

/** Also returns a debit if the policy rejects the attempt, because an offline device might have accepted it. */
export function debitOf(attempt: PlacedAttempt, history: RedemptionHistory): RedemptionDebit {
  const window = attempt.windows.find((candidate) => hasUsesLeft(candidate, attempt, history)) ?? null
  return { window, exhausts: isExhaustedBy(window, attempt, history) }
}

export interface ExplainedCheck {
  check: RedemptionCheckName
  outcome: 'passed' | 'failed' | 'not_applicable'
  /** The facts that the check compared, which can be serialized as JSON. */
  facts: Record<string, unknown>
}

/** Returns every check with its facts, including those after the first failed check. */
export function explainRedemption(attempt: PlacedAttempt, history: RedemptionHistory): ExplainedCheck[] {
  return redemptionChecks.map((check) => {
    const finding = checks[check](attempt, history)
    if (!finding) return { check, outcome: 'not_applicable', facts: {} }
    return { check, outcome: finding.isFailed ? 'failed' : 'passed', facts: finding.facts }
  })
}

/** Whether the pass has expired at the attempt's time or, if the attempt has a validity date, before that date. */
export function isPastExpiry({ expiresAt, policy, validityDate, asOf }: PlacedAttempt): boolean {
  if (expiresAt === null) return false
  return validityDate === undefined ? asOf >= expiresAt : expiryDate(expiresAt, policy) < validityDate
}

interface Finding {
  isFailed: boolean
  facts: Record<string, unknown>
}

/** Returns `undefined` if the check does not apply to the policy. */
type Check = (attempt: PlacedAttempt, history: RedemptionHistory) => Finding | undefined

const UNISSUED: PassStatus[] = ['QUEUED', 'ISSUING', 'FAILED']

const checks: Record<RedemptionCheckName, Check> = {
  revoked: ({ status }) => ({ isFailed: status === 'VOID', facts: { status } }),

  expired: (attempt, { firstAt }) => {
    const { status, expiresAt, asOf, policy } = attempt
    const endsAt = activationEnd(policy, firstAt)
    return {
      isFailed: status === 'EXPIRED' || isPastExpiry(attempt) || (endsAt !== null && asOf >= endsAt),
      facts: { status, expiresAt, ...(policy?.activation && { firstAcceptedAt: firstAt, activationEndsAt: endsAt }) },
    }
  },

  not_active: ({ status }) => ({ isFailed: UNISSUED.includes(status), facts: { status } }),

  not_valid_context: ({ validityDate, policy, selected }) => {
    if (validityDate === undefined || !policy?.windows) return undefined
    return { isFailed: !selected, facts: { validityDate, windowDates: windowDates(policy) } }
  },

  out_of_window: ({ policy, windows, at }) => {
    if (!policy?.windows) return undefined
    const { previous, next } = neighbours(policy, at)
    const nearest = { previous: previous ? shown(previous) : null, next: next ? shown(next) : null }
    return {
      isFailed: windows.length === 0,
      facts: { windows: windows.map(shown), ...(windows.length === 0 && nearest) },
    }
  },

  quota_exhausted: ({ policy, windows, period }, history) => {
    const maxUses = policy?.maxUses ?? null
    const limited = windows.filter((window) => window.maxUses !== null)
    if (maxUses === null && limited.length === 0 && !period) return undefined
    const inPeriod = period && usesOf(period.key, history)
    const isUsedUp = [
      maxUses !== null && history.total >= maxUses,
      windows.length > 0 && windows.every((window) => isFull(window, history)),
      inPeriod !== null && inPeriod >= policy!.perPeriod!.count,
    ]
    const facts = {
      ...(maxUses !== null && { maxUses, uses: history.total }),
      ...(limited.length > 0 && {
        windows: limited.map((window) => ({ ...shown(window), uses: usesOf(window.key, history) })),
      }),
      ...(period && {
        perPeriod: { ...policy!.perPeriod, from: new Date(period.from), to: new Date(period.to), uses: inPeriod },
      }),
    }
    return { isFailed: isUsedUp.includes(true), facts }
  },

  cooldown: ({ policy, at, validityDate }, { previousAt, nextAt }) => {
    const minutes = policy?.minIntervalMinutes
    // Skip the cooldown for a validity date, because the time of day of such an attempt does not count.
    if (minutes === undefined || validityDate !== undefined) return undefined
    const isNear = (other: Date | null) =>
      other !== null && Math.abs(at.getTime() - other.getTime()) < minutes * MINUTE_MS
    const allowedAt = previousAt && new Date(previousAt.getTime() + minutes * MINUTE_MS)
    return {
      isFailed: isNear(previousAt) || isNear(nextAt),
      facts: { minIntervalMinutes: minutes, previousAt, nextAt, allowedAt },
    }
  },

  already_scanned: (attempt, history) => {
    const { policy, windows, areWindowsContexts } = attempt
    if (limitsUses(policy)) return undefined
    if (areWindowsContexts) {
      const isUsed = windows.length > 0 && !windows.some((window) => hasUsesLeft(window, attempt, history))
      const { inContext, firstAt } = windowUses(windows, history)
      return { isFailed: isUsed, facts: { acceptedInContext: inContext, firstAt, windows: windows.map(shown) } }
    }
    const { inContext, contextFirstAt } = history
    return { isFailed: inContext > 0, facts: { acceptedInContext: inContext, firstAt: contextFirstAt } }
  },
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

function activationEnd(policy: RedemptionPolicy | null, firstAt: Date | null): Date | null {
  if (!policy?.activation || !firstAt) return null
  return new Date(firstAt.getTime() + policy.activation.validForHours * HOUR_MS)
}

function usesOf(key: string, { counts }: RedemptionHistory): number {
  return counts.get(key)?.count ?? 0
}

export function windowUses(
  windows: Window[],
  { counts }: RedemptionHistory,
): { inContext: number; firstAt: Date | null } {
  const uses = windows.flatMap(({ key }) => counts.get(key) ?? [])
  const firstAt = uses.reduce<Date | null>(
    (first, use) => (use.firstAt && (!first || use.firstAt < first) ? use.firstAt : first),
    null,
  )
  return { inContext: uses.reduce((sum, { count }) => sum + count, 0), firstAt }
}

/** Whether a window has uses left. A window that is a separate scan context allows one use. */
function hasUsesLeft(window: Window, { areWindowsContexts }: PlacedAttempt, history: RedemptionHistory): boolean {
  return areWindowsContexts ? usesOf(window.key, history) === 0 : !isFull(window, history)
}

function isFull({ key, maxUses }: Window, history: RedemptionHistory): boolean {
  return maxUses !== null && usesOf(key, history) >= maxUses
}

function isExhaustedBy(debited: Window | null, attempt: PlacedAttempt, history: RedemptionHistory): boolean {
  const { policy, exhaustible } = attempt
  if (!policy?.autoVoidOnExhaustion) return false
  if (policy.maxUses !== undefined && history.total + 1 >= policy.maxUses) return true
  const usesAfter = ({ key }: Window) => usesOf(key, history) + (key === debited?.key ? 1 : 0)
  return exhaustible.length > 0 && exhaustible.every((window) => usesAfter(window) >= window.maxUses!)
}

function shown({ start, end, maxUses }: Window) {
  return { start, end, maxUses }
}
