import { DateTime } from 'luxon'
import { EARLIEST_MOMENT, LATEST_MOMENT } from '../../bounds.ts'
import type { RedemptionPolicy } from '../../contract/redemption.ts'
import { oneSpelling } from './time-zones.ts'

/** A stretch of time in milliseconds: its start belongs to it, its end does not. */
export interface Range {
  from: number
  to: number
}

/** A fixed window of a policy. */
export interface Window extends Range {
  /** What a charge to it is stored under, whichever place it has in the policy. */
  key: string
  /** Null where it may be used without a limit. */
  maxUses: number | null
  /** The date it starts on, in its own offset; null for one that is open at its start. */
  date: string | null
  /** As authored: its offset is that of the window. */
  start: string | null
  end: string | null
}

/** What a Date can hold, either way: an open side of a window. */
const FOREVER = 8_640_000_000_000_000

/** The windows of a policy, in the order of the policy. */
export function windowsOf(policy: RedemptionPolicy | null): Window[] {
  const seen = new Map<string, number>()
  return (policy?.windows ?? []).map(({ start, end, maxUses }) => {
    const from = start === undefined ? -FOREVER : Date.parse(start)
    const to = end === undefined ? FOREVER : Date.parse(end)
    const bounds = `${from}/${to}`
    const count = seen.get(bounds) ?? 0
    seen.set(bounds, count + 1)
    return {
      from,
      to,
      key: count === 0 ? bounds : `${bounds}#${count}`,
      maxUses: maxUses ?? null,
      date: start?.slice(0, 10) ?? null,
      start: start ?? null,
      end: end ?? null,
    }
  })
}

/** True where a moment lies in a range; its end does not belong to it. */
export function contains({ from, to }: Range, at: Date): boolean {
  return from <= at.getTime() && at.getTime() < to
}

/** True where two ranges share a moment. */
export function overlaps(one: Range, other: Range): boolean {
  return one.from < other.to && other.from < one.to
}

/** The dates (YYYY-MM-DD) that the fixed windows of a policy start on, as authored: each in its own offset. */
export function windowDates(policy: RedemptionPolicy | null): string[] {
  return [...new Set(windowsOf(policy).flatMap(({ date }) => date ?? []))]
}

/** What says the zone of a policy. */
interface Zoned {
  perPeriod?: { timezone: string } | undefined
  windows?: { start?: string | undefined }[] | undefined
}

/**
 * The zone of a policy: that of its periods, else the offset of its first window, else UTC.
 * @param read gives what stands for a text of the policy; the text itself by default
 */
export function zoneOf(policy: Zoned | null, read = (text: string) => text): DateTime['zone'] | string {
  if (policy?.perPeriod) return read(policy.perPeriod.timezone)
  const start = policy?.windows?.find((window) => window.start !== undefined)?.start
  const moment = start === undefined ? undefined : DateTime.fromISO(read(start), { zone: 'UTC', setZone: true })
  // What is no moment would have the zone of this machine.
  return moment?.isValid ? moment.zone : 'UTC'
}

/** A zone in the form that luxon is given it. */
export function luxonZone(zone: DateTime['zone'] | string): DateTime['zone'] | string {
  return typeof zone === 'string' ? oneSpelling(zone) : zone
}

/** The date (YYYY-MM-DD) of an expiry in the zone of the policy: the last one that a pass may be scanned as of. */
export function expiryDate(expiresAt: Date, policy: RedemptionPolicy | null): string {
  return DateTime.fromJSDate(expiresAt, { zone: luxonZone(zoneOf(policy)) }).toISODate()!
}

/** Where an attempt stands in time. */
export interface Placement {
  /** The operational time. */
  at: Date
  /**
   * The moment whose activation and period count: the operational time, or with a validity date the start of what it
   * selects, since the time of day does not affect a date-selected decision.
   */
  asOf: Date
  /** The window that a validity date selects. */
  selected?: Window
}

/**
 * Where an attempt may stand in time: at the real time, or with a validity date at the real time of day on
 * that date, clamped into a window that starts on it. One place for each such window, the first by start first.
 */
export function placesInTime(
  policy: RedemptionPolicy | null,
  realTime: Date,
  validityDate?: string,
): [Placement, ...Placement[]] {
  if (validityDate === undefined) return [{ at: realTime, asOf: realTime }]
  const [first, ...others] = windowsOf(policy)
    .filter(({ date }) => date === validityDate)
    .sort((a, b) => a.from - b.from)
    .map((selected) => placeInWindow(selected, realTime, validityDate))
  if (first) return [first, ...others]
  const zone = oneSpelling(policy?.perPeriod?.timezone ?? 'UTC')
  const midnight = firstInstant(DateTime.fromISO(validityDate, { zone })).toMillis()
  return [{ at: onDate(validityDate, realTime, zone), asOf: storable(midnight) }]
}

function placeInWindow(selected: Window, realTime: Date, validityDate: string): Placement {
  const { zone } = DateTime.fromISO(selected.start!, { setZone: true })
  const time = onDate(validityDate, realTime, zone).getTime()
  const at = new Date(Math.max(selected.from, Math.min(time, selected.to - 1)))
  return { at, asOf: new Date(selected.from), selected }
}

function onDate(date: string, realTime: Date, zone: DateTime['zone'] | string): Date {
  const { hour, minute, second, millisecond } = DateTime.fromJSDate(realTime, { zone })
  return storable(DateTime.fromISO(date, { zone }).set({ hour, minute, second, millisecond }).toMillis())
}

function storable(time: number): Date {
  return new Date(Math.max(EARLIEST_MOMENT, Math.min(time, LATEST_MOMENT - 1)))
}

/** The day, week from Monday or month of a time zone that holds a moment; a day has 23 to 25 hours where clocks change. */
export function periodOf({ unit, timezone }: NonNullable<RedemptionPolicy['perPeriod']>, at: Date): Range {
  const start = firstInstant(DateTime.fromJSDate(at, { zone: oneSpelling(timezone) }).startOf(unit))
  return { from: start.toMillis(), to: firstInstant(start.plus({ [unit]: 1 }).startOf(unit)).toMillis() }
}

/** Where clocks go back over midnight, it comes twice: the day starts with the first. */
function firstInstant(local: DateTime): DateTime {
  return local.getPossibleOffsets().reduce((first, other) => (other < first ? other : first))
}
