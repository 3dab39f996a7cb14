import type { CountedRange, RedemptionHistory, RedemptionPlan } from '../../core/rules/redemption/redemption-plan.ts'
import { overlaps, type Range } from '../../core/rules/redemption/redemption-windows.ts'
import { toDate } from '../db/dialect.ts'

/** The uses of a segment that were debited to one window, or to none. */
export interface SegmentUses extends Range {
  debited_window: string | null
  uses: number
  first_at: number
  isKeyless: boolean
}

/**
 * Returns the segments of time between the ends of ranges, without segments that are in no range. Hundreds of windows
 * can overlap, so counting a use once in its segment takes far less work than counting it in each window.
 */
export function segmentsOf(ranges: readonly Range[]): Range[] {
  const changes = new Map<number, number>()
  for (const { from, to } of ranges) {
    changes.set(from, (changes.get(from) ?? 0) + 1)
    changes.set(to, (changes.get(to) ?? 0) - 1)
  }
  const ends = [...changes.keys()].sort((a, b) => a - b)
  let depth = 0
  return ends.slice(0, -1).flatMap((from, n) => {
    depth += changes.get(from)!
    return depth > 0 ? [{ from, to: ends[n + 1]! }] : []
  })
}

/** Adds up the uses of segments into the counts of windows and periods. */
export function createRangeCounts({ counted, windows }: Pick<RedemptionPlan, 'counted' | 'windows'>) {
  const counts = new Map(counted.map(({ key }) => [key, { count: 0, firstAt: null as Date | null }]))
  const byKey = new Map(counted.map((range) => [range.key, range]))

  function addTo({ key }: CountedRange, { uses, first_at }: SegmentUses): void {
    const { count, firstAt } = counts.get(key)!
    const isFirst = firstAt === null || first_at < firstAt.getTime()
    counts.set(key, { count: count + uses, firstAt: isFirst ? toDate(first_at) : firstAt })
  }

  return {
    counts: counts as RedemptionHistory['counts'],
    add(segment: SegmentUses): void {
      const key = segment.debited_window
      const debited = key === null ? undefined : windows.get(key)
      const own = debited && byKey.get(key!)
      // If the debited window contains the segment, all other windows of the segment overlap with it, so they do not count the
      // use.
      const ranges = own && overlaps(own, segment) ? [own, ...counted.filter(({ isWindow }) => !isWindow)] : counted
      for (const range of ranges) {
        if (range.isKeyless !== segment.isKeyless || !overlaps(range, segment)) continue
        if (!range.isWindow || range.key === key || !debited || !overlaps(debited, range)) addTo(range, segment)
      }
    },
  }
}
