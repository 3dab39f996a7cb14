import { DateTime, IANAZone } from 'luxon'
import { type BucketUnit, MAX_BUCKETS } from '../../contract/common.ts'
import { oneSpelling } from '../redemption/time-zones.ts'

/**
 * Where the buckets of a range begin by the clocks of a time zone, ascending: the first holds `from` and may begin before it,
 * the last ends at or after `to`. A day that clocks are changed on has 23 or 25 hours, weeks begin on Mondays, and where
 * clocks go back by half an hour that hour is longer. One more than MAX_BUCKETS where the range has more than that.
 */
export function bucketStarts({ from, to }: { from: Date; to: Date }, unit: BucketUnit, zoneName: string): number[] {
  const zone = oneSpelling(zoneName)
  const starts: number[] = []
  const clock = IANAZone.create(zone)
  let start = DateTime.fromJSDate(from, { zone }).startOf(unit).toMillis()
  let offset = offsetMs(clock, start)
  while (start < to.getTime() && starts.length <= MAX_BUCKETS) {
    starts.push(start)
    // If the clocks then say the same as now: they mostly do, at a tenth of the cost of a calendar.
    const next = following(start + offset, unit) - offset
    // Where midnight is left out a day begins later, and the next does not.
    const isSimple = isBeginning(start + offset, unit) && offsetMs(clock, next) === offset
    start = isSimple ? next : followingByCalendar(start, unit, zone)
    if (!isSimple) offset = offsetMs(clock, start)
  }
  return starts
}

/** Whether a range has more buckets than MAX_BUCKETS whatever the clocks do: none is twice as long as these. */
export function isFarTooLong({ from, to }: { from: Date; to: Date }, unit: BucketUnit): boolean {
  return to.getTime() - from.getTime() > 2 * MAX_BUCKETS * LENGTHS[unit]
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** In milliseconds, where no clock is changed; of months the longest. */
const LENGTHS: Record<BucketUnit, number> = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 31 * DAY_MS }

function offsetMs(clock: IANAZone, at: number): number {
  return Math.round(clock.offset(at) * 60_000)
}

/** Whether a bucket begins as it should by the clocks, whose time is given as if it were UTC. */
function isBeginning(local: number, unit: BucketUnit): boolean {
  return local % (unit === 'hour' ? HOUR_MS : DAY_MS) === 0
}

function following(local: number, unit: BucketUnit): number {
  if (unit !== 'month') return local + LENGTHS[unit]
  const date = new Date(local)
  return date.setUTCMonth(date.getUTCMonth() + 1)
}

/** Begun anew after each step: where midnight was left out, the day after begins at midnight again. */
function followingByCalendar(startedAt: number, unit: BucketUnit, zone: string): number {
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
