import { DateTime, IANAZone } from 'luxon'
import { type BucketUnit, MAX_BUCKETS } from '../../contract/common.ts'

/**
 * Where the buckets of a range begin by the clocks of a time zone, ascending: the first holds `from` and may begin before it,
 * the last ends at or after `to`. A day that clocks are changed on has 23 or 25 hours, weeks begin on Mondays, and where
 * clocks go back by half an hour that hour is longer. One more than MAX_BUCKETS where the range has more than that.
 */
export function bucketStarts({ from, to }: { from: Date; to: Date }, unit: BucketUnit, zone: string): number[] {
  const starts: number[] = []
  const clock = IANAZone.create(zone)
  let start = DateTime.fromJSDate(from, { zone }).startOf(unit).toMillis()
  while (start < to.getTime() && starts.length <= MAX_BUCKETS) {
    starts.push(start)
    start = sameClocks(start, unit, clock) ?? following(start, unit, zone)
  }
  return starts
}

const HOUR_MS = 3_600_000

/** In milliseconds, where no clock is changed; months differ. */
const LENGTHS: Record<BucketUnit, number> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: Number.NaN,
}

/** Where the next begins, if the clocks say the same as where this one does: most do, at a tenth of the cost of a calendar. */
function sameClocks(start: number, unit: BucketUnit, clock: IANAZone): number | undefined {
  const next = start + LENGTHS[unit]
  const offset = clock.offset(start)
  // Where midnight is left out a day begins later, and the next does not.
  const isWhole = (start + offset * 60_000) % (unit === 'hour' ? HOUR_MS : 24 * HOUR_MS) === 0
  return isWhole && clock.offset(next) === offset ? next : undefined
}

/** Begun anew after each step: where midnight was left out, the day after begins at midnight again. */
function following(startedAt: number, unit: BucketUnit, zone: string): number {
  const start = DateTime.fromMillis(startedAt, { zone })
  for (let steps = 1; ; steps++) {
    const next = start.plus({ [unit]: steps }).startOf(unit)
    if (next > start) return next.toMillis()
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
