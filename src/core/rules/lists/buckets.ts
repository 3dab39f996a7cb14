import { DateTime } from 'luxon'
import { type BucketUnit, MAX_BUCKETS } from '../../contract/common.ts'

/**
 * Where the buckets of a range begin by the clocks of a time zone, ascending: the first holds `from` and may begin before it,
 * the last ends at or after `to`. A day that clocks are changed on has 23 or 25 hours, weeks begin on Mondays, and where
 * clocks go back by half an hour that hour is longer. One more than MAX_BUCKETS where the range has more than that.
 */
export function bucketStarts({ from, to }: { from: Date; to: Date }, unit: BucketUnit, zone: string): number[] {
  const starts: number[] = []
  let start: DateTime = DateTime.fromJSDate(from, { zone }).startOf(unit)
  while (start.toMillis() < to.getTime() && starts.length <= MAX_BUCKETS) {
    starts.push(start.toMillis())
    start = following(start, unit)
  }
  return starts
}

/** Begun anew after each step: where midnight was left out, the day after begins at midnight again. */
function following(start: DateTime, unit: BucketUnit): DateTime {
  for (let steps = 1; ; steps++) {
    const next = start.plus({ [unit]: steps }).startOf(unit)
    if (next > start) return next
  }
}

/**
 * The longest step from the first start at which each of them is reached, in milliseconds: counted in such steps, nothing
 * stands in two buckets. 0 for a single one.
 */
export function commonStep(starts: readonly number[]): number {
  return starts.reduce((step, start) => greatestCommonDivisor(start - starts[0]!, step), 0)
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other)
}
