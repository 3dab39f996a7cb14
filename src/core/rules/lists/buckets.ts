import { DateTime, IANAZone } from 'luxon'
import { type BucketUnit, MAX_BUCKETS } from '../../contract/schemas/common.ts'
import { oneSpelling } from '../redemption/time-zones.ts'

/**
 * Divides a range into buckets in a time zone, and returns the start times of the buckets, ascending. The first bucket
 * contains `from`. The last bucket ends at or after `to`. Weeks begin on Mondays. A bucket is longer or shorter if
 * clocks change in it. If the range has more than MAX_BUCKETS buckets, returns the first MAX_BUCKETS + 1.
 */
export function bucketStarts({ from, to }: { from: Date; to: Date }, unit: BucketUnit, zoneName: string): number[] {
  const zone = oneSpelling(zoneName)
  const starts: number[] = []
  const clock = IANAZone.create(zone)
  let start = DateTime.fromJSDate(from, { zone }).startOf(unit).toMillis()
  let offset = offsetMs(clock, start)
  while (start < to.getTime() && starts.length <= MAX_BUCKETS) {
    starts.push(start)
    // Assume that the UTC offset stays the same: this is usually true, and calendar arithmetic takes ten times longer.
    const next = following(start + offset, unit) - offset
    // Use the calendar if the offset changes, or if this bucket began late because clocks skipped its midnight: in both
    // cases, `next` is a wrong time.
    const isSimple = isBeginning(start + offset, unit) && offsetMs(clock, next) === offset
    start = isSimple ? next : followingByCalendar(start, unit, zone)
    if (!isSimple) offset = offsetMs(clock, start)
  }
  return starts
}

/** Whether a range has more than MAX_BUCKETS buckets for certain: no bucket is twice as long as in LENGTHS. */
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

/** Whether a local time, given as if it were UTC, is a full hour (for hours) or a midnight (for other units). */
function isBeginning(local: number, unit: BucketUnit): boolean {
  return local % (unit === 'hour' ? HOUR_MS : DAY_MS) === 0
}

function following(local: number, unit: BucketUnit): number {
  if (unit !== 'month') return local + LENGTHS[unit]
  const date = new Date(local)
  return date.setUTCMonth(date.getUTCMonth() + 1)
}

function followingByCalendar(startedAt: number, unit: BucketUnit, zone: string): number {
  const start = DateTime.fromMillis(startedAt, { zone })
  for (let steps = 1; ; steps++) {
    const next = start.plus({ [unit]: steps }).startOf(unit)
    if (next > start) return next.toMillis()
  }
}

/**
 * Returns the greatest common divisor of the bucket lengths, in milliseconds. The time between two starts is a multiple
 * of this length. Returns 0 for a single start.
 */
export function commonStep(starts: readonly number[]): number {
  return starts.reduce((step, start) => greatestCommonDivisor(start - starts[0]!, step), 0)
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other)
}
