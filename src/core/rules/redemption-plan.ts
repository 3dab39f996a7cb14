import type { PassStatus } from '../contract/pass-status.ts'
import type { RedemptionPolicy } from '../contract/redemption.ts'
import {
  contains,
  overlaps,
  type Placement,
  periodOf,
  placeInTime,
  type Range,
  type Window,
  windowsOf,
} from './redemption-windows.ts'

/** What an attempt is judged by, beside what happened before. */
export interface RedemptionFacts {
  /** As a reader sees it at the moment of the attempt. */
  status: PassStatus
  expiresAt: Date | null
  policy: RedemptionPolicy | null
  /** When the attempt is made. */
  realTime: Date
  /** YYYY-MM-DD, where an operator judges as of another date. */
  validityDate?: string | undefined
}

/** Accepted scans to be counted: those within a range that are not charged to another window of the policy. */
export interface CountedRange extends Range {
  key: string
  notChargedTo: string[]
}

/** An attempt with everything that follows from the policy and the time alone. */
export interface RedemptionPlan extends RedemptionFacts, Placement {
  /** The windows that the attempt stands in, the first by start first; with a validity date the one it selects. */
  windows: Window[]
  /** The period that the attempt counts in. */
  period: Range | null
  /** Windows that are not over, where the pass is void once all of them are full. */
  exhaustible: Window[]
  /** What must be counted to judge. */
  counted: CountedRange[]
  /** Set where the window that is charged must be remembered: several hold the moment. */
  isChargeStored: boolean
}

export const PERIOD = 'period'

/** What accepted scans that were not reversed say of a pass; moments and counts that come from an index. */
export interface RedemptionHistory {
  total: number
  firstAt: Date | null
  lastAt: Date | null
  /** Of the attempt's own scan context. */
  inContext: number
  contextFirstAt: Date | null
  contextLastAt: Date | null
  /** The nearest on either side of the attempt; one at the same moment is previous. */
  previousAt: Date | null
  nextAt: Date | null
  /** By the key of what was to be counted. */
  counts: ReadonlyMap<string, { count: number; firstAt: Date | null }>
}

/** First half of a judgement: what to read from the history, so that it is never read whole. */
export function planRedemption(facts: RedemptionFacts): RedemptionPlan {
  const { policy } = facts
  const placement = placeInTime(policy, facts.realTime, facts.validityDate)
  const all = windowsOf(policy)
  const holding = all.filter((window) => contains(window, placement.at)).sort((a, b) => a.from - b.from)
  const windows = placement.selected ? holding.filter(({ key }) => key === placement.selected!.key) : holding
  const period = policy?.perPeriod ? periodOf(policy.perPeriod, placement.asOf) : null
  const exhaustible = exhaustibleWindows(policy, all, earlier(placement.at, facts.realTime))
  const limited = [...new Set([...windows, ...exhaustible])].filter(({ maxUses }) => maxUses !== null)
  return {
    ...facts,
    ...placement,
    windows,
    period,
    exhaustible,
    counted: [
      ...limited.map((window) => ({ ...rangeOf(window), key: window.key, notChargedTo: rivals(window, all) })),
      ...(period ? [{ ...period, key: PERIOD, notChargedTo: [] }] : []),
    ],
    isChargeStored: holding.length > 1,
  }
}

/** None where one of them may be used without a limit: the windows then never exhaust the pass. */
function exhaustibleWindows(policy: RedemptionPolicy | null, all: Window[], at: Date): Window[] {
  if (!policy?.autoVoidOnExhaustion) return []
  const notOver = all.filter(({ from, to }) => from < to && to > at.getTime())
  return notOver.every(({ maxUses }) => maxUses !== null) ? notOver : []
}

/** A validity date ahead must not use up what is still open: a pass that is void stays void. */
function earlier(one: Date, other: Date): Date {
  return one < other ? one : other
}

function rivals(window: Window, all: Window[]): string[] {
  return all.filter((other) => other.key !== window.key && overlaps(window, other)).map(({ key }) => key)
}

function rangeOf({ from, to }: Range): Range {
  return { from, to }
}
