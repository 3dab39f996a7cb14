import type { PassStatus } from '../../contract/common.ts'
import type { RedemptionPolicy } from '../../contract/redemption.ts'
import {
  contains,
  overlaps,
  type Placement,
  periodOf,
  placesInTime,
  type Range,
  type Window,
  windowsOf,
} from './redemption-windows.ts'

/** What an attempt is evaluated by, beside what happened before. */
export interface RedemptionFacts {
  /** As a reader sees it at the moment of the attempt. */
  status: PassStatus
  expiresAt: Date | null
  policy: RedemptionPolicy | null
  /** When the attempt is made. */
  realTime: Date
  /** YYYY-MM-DD, where an operator evaluates as of another date. */
  validityDate?: string | undefined
  scanContextKey: string | null
}

/** Accepted scans to be counted: those within a range that are not charged to another window of the policy. */
export interface CountedRange extends Range {
  key: string
  notChargedTo: string[]
  /** Those without a scan context alone: what a window counts that is a context of its own. */
  isKeyless: boolean
}

/** An attempt at one of its places in time, with everything that follows from the policy and the time alone. */
export interface PlacedAttempt extends RedemptionFacts, Placement {
  /** The windows that the attempt stands in, the first by start first; with a validity date the one it selects. */
  windows: Window[]
  /** Each window is a scan context of its own. */
  areWindowsContexts: boolean
  /** The period that the attempt counts in. */
  period: Period | null
  /** Windows that are not over, where the pass is void once all of them are full. */
  exhaustible: Window[]
  /** Set where the window that is charged must be remembered: several hold the moment. */
  isDebitStored: boolean
}

/** A stretch of the calendar, with the key of its count. */
export interface Period extends Range {
  key: string
}

/** What to read from the history of a pass to evaluate an attempt. */
export interface RedemptionPlan {
  /** When the attempt is made: a cooldown looks at the nearest scans on either side. */
  realTime: Date
  scanContextKey: string | null
  /** In the order in which they are tried: the first whose window has uses left is taken, else the last. */
  places: [PlacedAttempt, ...PlacedAttempt[]]
  /** What must be counted to evaluate. */
  counted: CountedRange[]
}

/** What accepted scans that were not reversed say of a pass; moments and counts that come from an index. */
export interface RedemptionHistory {
  total: number
  firstAt: Date | null
  lastAt: Date | null
  /** Of the attempt's own scan context. */
  inContext: number
  contextFirstAt: Date | null
  contextLastAt: Date | null
  /**
   * The nearest on either side of the time the attempt is made, among those made without a validity date; one at the
   * same moment is previous.
   */
  previousAt: Date | null
  nextAt: Date | null
  /** By the key of what was to be counted. */
  counts: ReadonlyMap<string, { count: number; firstAt: Date | null }>
}

/** First half of an evaluation: what to read from the history, so that it is never read whole. */
export function planRedemption(facts: RedemptionFacts): RedemptionPlan {
  const { policy, realTime, validityDate, scanContextKey } = facts
  const all = windowsOf(policy)
  const areWindowsContexts = all.length > 0 && !limitsUses(policy) && scanContextKey === null
  const [first, ...others] = placesInTime(policy, realTime, validityDate)
  const placed = (placement: Placement) => placeAttempt(facts, placement, all, areWindowsContexts)
  const places: RedemptionPlan['places'] = [placed(first), ...others.map(placed)]
  const limited = places
    .flatMap(({ windows, exhaustible }) => [...windows, ...exhaustible])
    .filter(({ maxUses }) => maxUses !== null || areWindowsContexts)
    .map((window) => ({
      ...rangeOf(window),
      key: window.key,
      notChargedTo: rivals(window, all),
      isKeyless: areWindowsContexts,
    }))
  const periods = places.flatMap(({ period }) => (period ? [{ ...period, notChargedTo: [], isKeyless: false }] : []))
  const counted = new Map([...limited, ...periods].map((range) => [range.key, range]))
  return { realTime, scanContextKey, places, counted: [...counted.values()] }
}

/** Whether a policy limits uses at all; where none does, a pass is let in once in each scan context. */
export function limitsUses(policy: RedemptionPolicy | null): boolean {
  if (!policy) return false
  const { maxUses, windows = [], perPeriod, minIntervalMinutes, activation } = policy
  const limits = [maxUses, perPeriod, minIntervalMinutes, activation, ...windows.map((window) => window.maxUses)]
  return limits.some((limit) => limit !== undefined)
}

function placeAttempt(
  facts: RedemptionFacts,
  placement: Placement,
  all: Window[],
  areWindowsContexts: boolean,
): PlacedAttempt {
  const { policy, realTime } = facts
  const { at, asOf, selected } = placement
  const holding = all.filter((window) => contains(window, at)).sort((a, b) => a.from - b.from)
  return {
    ...facts,
    ...placement,
    windows: selected ? holding.filter(({ key }) => key === selected.key) : holding,
    areWindowsContexts,
    period: policy?.perPeriod ? keyed(periodOf(policy.perPeriod, asOf)) : null,
    exhaustible: exhaustibleWindows(policy, all, earlier(at, realTime)),
    isDebitStored: holding.length > 1,
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

/** No window has such a key: windows of one date may lie in different periods. */
function keyed({ from, to }: Range): Period {
  return { from, to, key: `period ${from}` }
}

/** An accepted scan that was not reversed. */
export interface AcceptedScan {
  scannedAt: Date
  scanContextKey: string | null
  /** YYYY-MM-DD, where it was made as of a date. */
  validityDate: string | null
}

/**
 * The history of a pass from a list of its accepted scans, for a device that has nothing else. Which of several
 * overlapping windows each was charged to is not known there: it counts in all of them.
 */
export function historyOf(plan: RedemptionPlan, scans: readonly AcceptedScan[]): RedemptionHistory {
  const all = timesOf(scans)
  const inContext = timesOf(scans.filter((scan) => scan.scanContextKey === plan.scanContextKey))
  const keyless = timesOf(scans.filter((scan) => scan.scanContextKey === null))
  const undated = timesOf(scans.filter((scan) => scan.validityDate === null))
  const at = plan.realTime.getTime()
  return {
    total: all.length,
    firstAt: least(all),
    lastAt: greatest(all),
    inContext: inContext.length,
    contextFirstAt: least(inContext),
    contextLastAt: greatest(inContext),
    previousAt: greatest(undated.filter((time) => time <= at)),
    nextAt: least(undated.filter((time) => time > at)),
    counts: new Map(
      plan.counted.map(({ key, from, to, isKeyless }) => {
        const within = (isKeyless ? keyless : all).filter((time) => from <= time && time < to)
        return [key, { count: within.length, firstAt: least(within) }]
      }),
    ),
  }
}

function timesOf(scans: readonly AcceptedScan[]): number[] {
  return scans.map(({ scannedAt }) => scannedAt.getTime())
}

function least(times: number[]): Date | null {
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.min(a, b)))
}

function greatest(times: number[]): Date | null {
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.max(a, b)))
}
