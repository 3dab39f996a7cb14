import type { PassStatus } from '../contract/pass-status.ts'
import type { RedemptionPolicy } from '../contract/redemption.ts'
import { PERIOD, type RedemptionHistory, type RedemptionPlan } from './redemption-plan.ts'
import { type Window, windowsOf } from './redemption-windows.ts'

/** The checks of a policy in their order; the first that fails decides. */
export const redemptionChecks = [
  ...(['revoked', 'expired', 'not_active', 'not_valid_context', 'out_of_window'] as const),
  ...(['quota_exhausted', 'cooldown', 'already_scanned'] as const),
]
export type RedemptionCheckName = (typeof redemptionChecks)[number]

export type RedemptionVerdict =
  | ({ result: 'accepted'; reasonCode: 'valid' } & RedemptionCharge)
  | { result: 'denied' | 'duplicate'; reasonCode: RedemptionCheckName }

/** What an attempt uses up where somebody lets it in. */
export interface RedemptionCharge {
  /** The window that the use is charged to. */
  window: Window | null
  /** This is the last use, and the policy makes the pass void with it. */
  exhausts: boolean
}

/** Second half of a judgement: the verdict over one attempt. */
export function evaluateRedemption(plan: RedemptionPlan, history: RedemptionHistory): RedemptionVerdict {
  const failed = redemptionChecks.find((name) => checks[name](plan, history)?.isFailed)
  if (failed) return { result: failed === 'already_scanned' ? 'duplicate' : 'denied', reasonCode: failed }
  return { result: 'accepted', reasonCode: 'valid', ...chargeOf(plan, history) }
}

/** Whatever the verdict: a device may have let somebody in whom the policy would not. */
export function chargeOf(plan: RedemptionPlan, history: RedemptionHistory): RedemptionCharge {
  const window = plan.windows.find((candidate) => hasUsesLeft(candidate, history)) ?? null
  return { window, exhausts: isExhaustedBy(window, plan, history) }
}

export interface ExplainedCheck {
  check: RedemptionCheckName
  outcome: 'passed' | 'failed' | 'not_applicable'
  /** What the check looked at, as JSON shows it. */
  facts: Record<string, unknown>
}

/** Every check with the facts it used, also those behind the one that decides. */
export function explainRedemption(plan: RedemptionPlan, history: RedemptionHistory): ExplainedCheck[] {
  return redemptionChecks.map((check) => {
    const finding = checks[check](plan, history)
    if (!finding) return { check, outcome: 'not_applicable', facts: {} }
    return { check, outcome: finding.isFailed ? 'failed' : 'passed', facts: finding.facts }
  })
}

/** Whether a policy counts uses at all; where none does, a pass is let in once in each scan context. */
function limitsUses(policy: RedemptionPolicy | null): boolean {
  if (!policy) return false
  const { maxUses, windows = [], perPeriod, minIntervalMinutes } = policy
  const limits = [maxUses, perPeriod, minIntervalMinutes, ...windows.map((window) => window.maxUses)]
  return limits.some((limit) => limit !== undefined)
}

interface Finding {
  isFailed: boolean
  facts: Record<string, unknown>
}

/** Undefined where the policy has nothing to check. */
type Check = (plan: RedemptionPlan, history: RedemptionHistory) => Finding | undefined

const UNISSUED: PassStatus[] = ['QUEUED', 'ISSUING', 'FAILED']

const checks: Record<RedemptionCheckName, Check> = {
  revoked: ({ status }) => ({ isFailed: status === 'VOID', facts: { status } }),

  expired: ({ status, expiresAt, asOf, policy }, { firstAt }) => {
    const endsAt = activationEnd(policy, firstAt)
    const isPast = (end: Date | null) => end !== null && asOf >= end
    return {
      isFailed: status === 'EXPIRED' || isPast(expiresAt) || isPast(endsAt),
      facts: { status, expiresAt, ...(policy?.activation && { firstAcceptedAt: firstAt, activationEndsAt: endsAt }) },
    }
  },

  not_active: ({ status }) => ({ isFailed: UNISSUED.includes(status), facts: { status } }),

  not_valid_context: ({ validityDate, policy, selected }) => {
    if (validityDate === undefined || !policy?.windows) return undefined
    const dates = windowsOf(policy).flatMap(({ date }) => date ?? [])
    return { isFailed: !selected, facts: { validityDate, windowDates: [...new Set(dates)] } }
  },

  out_of_window: ({ policy, windows, at }) => {
    if (!policy?.windows) return undefined
    const { previous, next } = neighbours(policy, at)
    const facts = { windows: windows.map(shown), ...(windows.length === 0 && { previous, next }) }
    return { isFailed: windows.length === 0, facts }
  },

  quota_exhausted: ({ policy, windows, period }, history) => {
    const maxUses = policy?.maxUses ?? null
    const limited = windows.filter((window) => window.maxUses !== null)
    if (maxUses === null && limited.length === 0 && !period) return undefined
    const inPeriod = period && usesOf(PERIOD, history)
    const isUsedUp = [
      maxUses !== null && history.total >= maxUses,
      windows.length > 0 && !windows.some((window) => hasUsesLeft(window, history)),
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

  cooldown: ({ policy, at }, { previousAt, nextAt }) => {
    const minutes = policy?.minIntervalMinutes
    if (minutes === undefined) return undefined
    const isNear = (other: Date | null) =>
      other !== null && Math.abs(at.getTime() - other.getTime()) < minutes * MINUTE_MS
    const allowedAt = previousAt && new Date(previousAt.getTime() + minutes * MINUTE_MS)
    return {
      isFailed: isNear(previousAt) || isNear(nextAt),
      facts: { minIntervalMinutes: minutes, previousAt, nextAt, allowedAt },
    }
  },

  already_scanned: ({ policy }, { inContext, contextFirstAt }) => {
    if (limitsUses(policy)) return undefined
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

function hasUsesLeft({ key, maxUses }: Window, history: RedemptionHistory): boolean {
  return maxUses === null || usesOf(key, history) < maxUses
}

function isExhaustedBy(charged: Window | null, plan: RedemptionPlan, history: RedemptionHistory): boolean {
  const { policy, exhaustible } = plan
  if (!policy?.autoVoidOnExhaustion) return false
  if (policy.maxUses !== undefined && history.total + 1 >= policy.maxUses) return true
  const usesAfter = ({ key }: Window) => usesOf(key, history) + (key === charged?.key ? 1 : 0)
  return exhaustible.length > 0 && exhaustible.every((window) => usesAfter(window) >= window.maxUses!)
}

function neighbours(policy: RedemptionPolicy, at: Date) {
  const all = windowsOf(policy)
  const [next] = all.filter(({ from }) => from > at.getTime()).sort((a, b) => a.from - b.from)
  const [previous] = all.filter(({ to }) => to <= at.getTime()).sort((a, b) => b.to - a.to)
  return { previous: previous ? shown(previous) : null, next: next ? shown(next) : null }
}

function shown({ start, end, maxUses }: Window) {
  return { start, end, maxUses }
}
