import type { PassStatus } from '../../contract/schemas/common.ts'
import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import {
  contains,
  type Placement,
  periodOf,
  placesInTime,
  type Range,
  type Window,
  windowsOf,
} from './redemption-windows.ts'

export interface RedemptionFacts {
  /** The effective status of the pass at the time of the attempt. */
  status: PassStatus
  expiresAt: Date | null
  policy: RedemptionPolicy | null
  realTime: Date
  /** The validity date (YYYY-MM-DD), if the scan is evaluated as of a date instead of its time. */
  validityDate?: string | undefined
  scanContextKey: string | null
}

/** A window or period in which to count accepted scans. */
export interface CountedRange extends Range {
  key: string
  /** Whether the range is a window. A scan in a window counts unless it was debited to another, overlapping window. */
  isWindow: boolean
  /** Whether to count only scans without a scan context. `true` if the windows are the scan contexts. */
  isKeyless: boolean
}

/** An attempt at one of its possible times, with the windows and the period of that time. */
export interface PlacedAttempt extends RedemptionFacts, Placement {
  /** The windows that contain the attempt, ordered by start. With a validity date, only the selected window. */
  windows: Window[]
  /** Whether each window is a separate scan context, in which a pass is accepted once. */
  areWindowsContexts: boolean
  period: Period | null
  /** The windows that have not ended. The pass becomes void if all are full. Empty if full windows never void it. */
  exhaustible: Window[]
  /** Whether to store the debited window. `true` if several windows contain the time. */
  isDebitStored: boolean
}

/** A calendar period, with the key of its count. */
export interface Period extends Range {
  key: string
}

/** The part of a pass's history that an evaluation needs. */
export interface RedemptionPlan {
  /** The time of the attempt. A cooldown compares it with the nearest scans before and after it. */
  realTime: Date
  scanContextKey: string | null
  /** The possible times. `choosePlace` uses the first time in a window with uses left, or else the last time. */
  places: [PlacedAttempt, ...PlacedAttempt[]]
  counted: CountedRange[]
  /** All windows of the policy, by the key under which debits are stored. */
  windows: ReadonlyMap<string, Range>
}

/** A summary of the accepted scans of a pass, without reversed scans. Servers read times and counts from an index. */
export interface RedemptionHistory {
  total: number
  firstAt: Date | null
  lastAt: Date | null
  /** The number of scans in the attempt's scan context. */
  inContext: number
  contextFirstAt: Date | null
  contextLastAt: Date | null
  /** The times of the nearest scans before (or at) and after the attempt. Scans with a validity date do not count. */
  previousAt: Date | null
  nextAt: Date | null
  /** The number of scans in each counted range, and the time of the first, by the key of the range. */
  counts: ReadonlyMap<string, { count: number; firstAt: Date | null }>
}

/** Returns the parts of the history that an evaluation needs, so that callers never read the whole history. */
export function planRedemption(facts: RedemptionFacts): RedemptionPlan {
  const { policy, realTime, validityDate, scanContextKey } = facts
  const all = [...windowsOf(policy)].sort((a, b) => a.from - b.from)
  const areWindowsContexts = all.length > 0 && !limitsUses(policy) && scanContextKey === null
  const [first, ...others] = placesInTime(policy, realTime, validityDate)
  const exhaustible = exhaustibleWindows(policy, all)
  const placed = (placement: Placement) => placeAttempt(facts, placement, { all, exhaustible, areWindowsContexts })
  const places: RedemptionPlan['places'] = [placed(first), ...others.map(placed)]
  // Count each window once, because a date can have hundreds of possible times that share most windows.
  const lists = new Set(places.flatMap((place) => [place.windows, place.exhaustible]))
  const used = new Set([...lists].flat())
  const counted = new Map<string, CountedRange>()
  for (const { from, to, key, maxUses } of used) {
    if (maxUses === null && !areWindowsContexts) continue
    counted.set(key, { from, to, key, isWindow: true, isKeyless: areWindowsContexts })
  }
  for (const { period } of places) {
    if (period) counted.set(period.key, { ...period, isWindow: false, isKeyless: false })
  }
  const windows = new Map(all.map((window) => [window.key, window]))
  return { realTime, scanContextKey, places, counted: [...counted.values()], windows }
}

/** Whether a policy limits uses. Without limits, a pass is accepted once per scan context. */
export function limitsUses(policy: RedemptionPolicy | null): boolean {
  if (!policy) return false
  const { maxUses, windows = [], perPeriod, minIntervalMinutes, activation } = policy
  const limits = [maxUses, perPeriod, minIntervalMinutes, activation, ...windows.map((window) => window.maxUses)]
  return limits.some((limit) => limit !== undefined)
}

interface PolicyWindows {
  /** All windows, in the order of their start. */
  all: Window[]
  exhaustible: (at: Date) => Window[]
  areWindowsContexts: boolean
}

function placeAttempt(
  facts: RedemptionFacts,
  placement: Placement,
  { all, exhaustible, areWindowsContexts }: PolicyWindows,
): PlacedAttempt {
  const { policy, realTime } = facts
  const { at, asOf, selected } = placement
  const holding = all.filter((window) => contains(window, at))
  return {
    ...facts,
    ...placement,
    windows: selected ? holding.filter(({ key }) => key === selected.key) : holding,
    areWindowsContexts,
    period: policy?.perPeriod ? keyed(periodOf(policy.perPeriod, asOf)) : null,
    exhaustible: exhaustible(earlier(at, realTime)),
    isDebitStored: holding.length > 1,
  }
}

/**
 * Returns a function that lists the windows that have not ended at a time. The list is empty without
 * `autoVoidOnExhaustion`. It is also empty if one of these windows allows unlimited uses, because the pass is then
 * never exhausted. Results are cached, because many calls have the same time.
 */
function exhaustibleWindows(policy: RedemptionPolicy | null, all: Window[]): (at: Date) => Window[] {
  const known = new Map<number, Window[]>()
  return (at) => {
    if (!policy?.autoVoidOnExhaustion) return []
    const time = at.getTime()
    const found = known.get(time) ?? all.filter(({ from, to }) => from < to && to > time)
    known.set(time, found)
    return found.every(({ maxUses }) => maxUses !== null) ? found : []
  }
}

/**
 * Returns the earlier of the attempt's time and the real time. With only the attempt's time, a future validity date
 * would make windows that are open now count as ended.
 */
function earlier(one: Date, other: Date): Date {
  return one < other ? one : other
}

/** Adds the key to a period. The prefix of the key distinguishes it from the keys of windows. */
function keyed({ from, to }: Range): Period {
  return { from, to, key: `period ${from}` }
}
