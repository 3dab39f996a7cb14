import { DateTime, IANAZone } from 'luxon'
import { type BucketUnit, MAX_BUCKETS } from '../../contract/schemas/common.ts'
import { oneSpelling } from '../redemption/time-zones.ts'

/**
 * Returns the start times of the buckets of a range in a time zone, ascending. The first bucket contains `from` and can
 * begin before it. The last ends at or after `to`. A day on which clocks change has 23 or 25 hours, weeks begin on
 * Mondays, and an hour in which clocks go back by half an hour is longer. Returns MAX_BUCKETS + 1 items if the range
 * has more than MAX_BUCKETS.
 */
export function bucketStarts({ from, to }: { from: Date; to: Date }, unit: BucketUnit, zoneName: string): number[] {
  const zone = oneSpelling(zoneName)
  const starts: number[] = []
  const clock = IANAZone.create(zone)
  let start = DateTime.fromJSDate(from, { zone }).startOf(unit).toMillis()
  let offset = offsetMs(clock, start)
  while (start < to.getTime() && starts.length <= MAX_BUCKETS) {
    starts.push(start)
    // Assume that the offset stays the same, which is usually true and ten times cheaper than calendar arithmetic.
    const next = following(start + offset, unit) - offset
    // Use the calendar if the bucket does not begin at the usual time. A day without a midnight begins later, but the
    // next day begins at midnight again.
    const isSimple = isBeginning(start + offset, unit) && offsetMs(clock, next) === offset
    start = isSimple ? next : followingByCalendar(start, unit, zone)
    if (!isSimple) offset = offsetMs(clock, start)
  }
  return starts
}

/** Whether a range certainly has more than MAX_BUCKETS buckets. No bucket is twice as long as its entry in LENGTHS. */
export function isFarTooLong({ from, to }: { from: Date; to: Date }, unit: BucketUnit): boolean {
  return to.getTime() - from.getTime() > 2 * MAX_BUCKETS * LENGTHS[unit]
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The lengths of buckets in milliseconds, without clock changes. Months have their maximum length. */
const LENGTHS: Record<BucketUnit, number> = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 31 * DAY_MS }

function offsetMs(clock: IANAZone, at: number): number {
  return Math.round(clock.offset(at) * 60_000)
}

/** Whether a bucket begins at the usual local time, given as if it were UTC. */
function isBeginning(local: number, unit: BucketUnit): boolean {
  return local % (unit === 'hour' ? HOUR_MS : DAY_MS) === 0
}

function following(local: number, unit: BucketUnit): number {
  if (unit !== 'month') return local + LENGTHS[unit]
  const date = new Date(local)
  return date.setUTCMonth(date.getUTCMonth() + 1)
}

/** Returns the next start by calendar arithmetic, at the beginning of the unit. */
function followingByCalendar(startedAt: number, unit: BucketUnit, zone: string): number {
  const start = DateTime.fromMillis(startedAt, { zone })
  for (let steps = 1; ; steps++) {
    const next = start.plus({ [unit]: steps }).startOf(unit)
    if (next > start) return next.toMillis()
  }
}

/**
 * Returns the greatest common divisor of the bucket lengths, in milliseconds. Steps of this length never overlap two
 * buckets. Returns 0 for a single start.
 */
export function commonStep(starts: readonly number[]): number {
  return starts.reduce((step, start) => greatestCommonDivisor(start - starts[0]!, step), 0)
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other)
}
