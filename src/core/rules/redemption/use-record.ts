import type { CountedRange, RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'
import { overlaps, type Range } from './redemption-windows.ts'

export interface RecordedUse {
  at: Date
  scanContextKey: string | null
  /** Whether the use has a validity date, so that its time of day does not count. */
  isDated: boolean
  /** The key of the debited window, if several windows contained the time of the use. */
  debitedWindow: string | null
}

/** An accepted scan that was not reversed. */
export interface AcceptedScan {
  scannedAt: Date
  scanContextKey: string | null
  /** The validity date (YYYY-MM-DD), if the scan was evaluated as of this date instead of the time of the scan. */
  validityDate: string | null
}

/**
 * Returns the history of a pass from a list of its accepted scans, for a device without other data. The list does not
 * contain the debited windows, so a scan counts in every window that contains its time.
 */
export function historyOf(plan: RedemptionPlan, scans: readonly AcceptedScan[]): RedemptionHistory {
  const uses = createUseRecord()
  for (const { scannedAt, scanContextKey, validityDate } of scans) {
    uses.add({ at: scannedAt, scanContextKey, isDated: validityDate !== null, debitedWindow: null })
  }
  return uses.historyOf(plan)
}

export type UseRecord = ReturnType<typeof createUseRecord>

/** Creates a record of the uses of one pass. The record counts the uses in a range by binary search. */
export function createUseRecord() {
  const all: number[] = []
  const undated: number[] = []
  const byContext = new Map<string | null, number[]>()
  const byWindow = new Map<string, number[]>()
  const keylessByWindow = new Map<string, number[]>()

  function timesOf({ scanContextKey, isDated, debitedWindow }: RecordedUse): number[][] {
    const times = [all, entry(byContext, scanContextKey)]
    if (!isDated) times.push(undated)
    if (debitedWindow !== null) {
      times.push(entry(byWindow, debitedWindow))
      if (scanContextKey === null) times.push(entry(keylessByWindow, debitedWindow))
    }
    return times
  }

  function countOf(range: CountedRange, windows: RedemptionPlan['windows']) {
    const times = range.isKeyless ? (byContext.get(null) ?? []) : all
    let count = countWithin(times, range)
    if (range.isWindow) {
      // Subtract uses that were debited to another window. Otherwise, such a use would count in two windows.
      for (const [key, debited] of range.isKeyless ? keylessByWindow : byWindow) {
        const other = windows.get(key)
        if (key !== range.key && other && overlaps(other, range)) count -= countWithin(debited, range)
      }
    }
    // Do not subtract these uses for `firstAt`: only doors show `firstAt`, and they do not know the debited windows.
    const firstAt = count > 0 ? toDate(times[placeAfter(times, range.from - 1)]) : null
    return { count, firstAt }
  }

  return {
    add(use: RecordedUse): void {
      const at = use.at.getTime()
      for (const times of timesOf(use)) times.splice(placeAfter(times, at), 0, at)
    },
    remove(use: RecordedUse): void {
      const at = use.at.getTime()
      for (const times of timesOf(use)) times.splice(placeAfter(times, at) - 1, 1)
    },
    historyOf({ realTime, scanContextKey, counted, windows }: RedemptionPlan): RedemptionHistory {
      const inContext = byContext.get(scanContextKey) ?? []
      const next = placeAfter(undated, realTime.getTime())
      return {
        total: all.length,
        firstAt: toDate(all[0]),
        lastAt: toDate(all.at(-1)),
        inContext: inContext.length,
        contextFirstAt: toDate(inContext[0]),
        contextLastAt: toDate(inContext.at(-1)),
        previousAt: toDate(undated[next - 1]),
        nextAt: toDate(undated[next]),
        counts: new Map(counted.map((range) => [range.key, countOf(range, windows)])),
      }
    },
  }
}

function entry<Key>(map: Map<Key, number[]>, key: Key): number[] {
  const found = map.get(key) ?? []
  map.set(key, found)
  return found
}

function countWithin(times: number[], { from, to }: Range): number {
  return times.length === 0 ? 0 : placeAfter(times, to - 1) - placeAfter(times, from - 1)
}

/** Returns how many items of `times`, an ascending list, are not after `at`. */
function placeAfter(times: number[], at: number): number {
  let [low, high] = [0, times.length]
  // Check the end first, because uses are almost always appended.
  if (high > 0 && times[high - 1]! <= at) return high
  while (low < high) {
    const middle = (low + high) >>> 1
    if (times[middle]! <= at) low = middle + 1
    else high = middle
  }
  return low
}

function toDate(time: number | undefined): Date | null {
  return time === undefined ? null : new Date(time)
}
