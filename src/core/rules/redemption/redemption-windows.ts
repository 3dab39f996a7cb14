import { DateTime } from 'luxon'
import { EARLIEST_MOMENT, LATEST_MOMENT } from '../../bounds.ts'
import type { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import { oneSpelling } from './time-zones.ts'

/** A range of time in milliseconds. `to` is exclusive. */
export interface Range {
  from: number
  to: number
}

export interface Window extends Range {
  /** The key under which debits of the window are stored. It does not depend on the window's position in the policy. */
  key: string
  maxUses: number | null
  /** The date on which the window starts, in the UTC offset of `start`; `null` if the window has no start. */
  date: string | null
  /** The start and end as authored, including the offset; `null` if open. */
  start: string | null
  end: string | null
}

/** The largest time that a Date can represent, for a window without a start or an end. */
const FOREVER = 8_640_000_000_000_000

/**
 * The windows are cached, because an evaluation needs them several times, and a replay evaluates the same policy for
 * many scans.
 */
const knownWindows = new WeakMap<RedemptionPolicy, readonly Window[]>()

export function windowsOf(policy: RedemptionPolicy | null): readonly Window[] {
  if (!policy?.windows) return []
  const known = knownWindows.get(policy) ?? readWindows(policy.windows)
  knownWindows.set(policy, known)
  return known
}

function readWindows(windows: NonNullable<RedemptionPolicy['windows']>): Window[] {
  const seen = new Map<string, number>()
  return windows.map(({ start, end, maxUses }) => {
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

export function contains({ from, to }: Range, at: Date): boolean {
  return from <= at.getTime() && at.getTime() < to
}

export function overlaps(one: Range, other: Range): boolean {
  return one.from < other.to && other.from < one.to
}

/** Returns the last window that ended by a time, and the first window that starts after it. */
export function neighbours(policy: RedemptionPolicy | null, at: Date) {
  const all = windowsOf(policy)
  const [next] = all.filter(({ from }) => from > at.getTime()).sort((a, b) => a.from - b.from)
  const [previous] = all.filter(({ to }) => to <= at.getTime()).sort((a, b) => b.to - a.to)
  return { previous, next }
}

/** Returns the dates (YYYY-MM-DD) on which the windows of a policy start, each in the UTC offset of the start. */
export function windowDates(policy: RedemptionPolicy | null): string[] {
  return [...new Set(windowsOf(policy).flatMap(({ date }) => date ?? []))]
}

interface Zoned {
  perPeriod?: { timezone: string } | undefined
  windows?: { start?: string | undefined }[] | undefined
}

/**
 * Returns the zone of a policy: the zone of its periods, or the offset of its first window with a start, or UTC.
 * @param read fills the placeholders of a text; by default, the text is unchanged
 */
export function zoneOf(policy: Zoned | null, read = (text: string) => text): DateTime['zone'] | string {
  if (policy?.perPeriod) return read(policy.perPeriod.timezone)
  const start = policy?.windows?.find((window) => window.start !== undefined)?.start
  const moment = start === undefined ? undefined : DateTime.fromISO(read(start), { zone: 'UTC', setZone: true })
  // Use UTC for an invalid time. Otherwise, luxon would return the zone of this machine.
  return moment?.isValid ? moment.zone : 'UTC'
}

/** Returns a zone for luxon, in one spelling per zone (see `oneSpelling`). */
export function luxonZone(zone: DateTime['zone'] | string): DateTime['zone'] | string {
  return typeof zone === 'string' ? oneSpelling(zone) : zone
}

/**
 * Returns the date (YYYY-MM-DD) of an expiry in the policy's zone. This is the last validity date on which the pass is
 * valid.
 */
export function expiryDate(expiresAt: Date, policy: RedemptionPolicy | null): string {
  return DateTime.fromJSDate(expiresAt, { zone: luxonZone(zoneOf(policy)) }).toISODate()!
}

export interface Placement {
  /** The time of the scan in the ledger (`scannedAt`). */
  at: Date
  /**
   * The time that determines activation and period. Without a validity date, this is `at`. With a validity date, this
   * is the start of the selected window or, without a window, of the date, because the time of day must not affect
   * the decision.
   */
  asOf: Date
  /** The window that a validity date selects. */
  selected?: Window
}

/**
 * Returns the possible times of an attempt. Without a validity date, the only possible time is the real time. With a
 * validity date, each window that starts on the date has a possible time: the real time of day on that date, clamped
 * into the window. Without such a window, this time of day is the only possible time. Ordered by window start.
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

/**
 * Moves an attempt to the date of a window: returns the real time of day on that date, clamped into the window. Uses
 * the UTC offset of the window's start, because time zones are slow to compute and a date can have hundreds of windows.
 */
function placeInWindow(selected: Window, realTime: Date, validityDate: string): Placement {
  const offset = Date.parse(selected.start!.replace(/(z|[+-][\d:]+)$/i, 'Z')) - selected.from
  const local = realTime.getTime() + offset
  const timeOfDay = local - Math.floor(local / DAY_MS) * DAY_MS
  const time = storable(Date.parse(validityDate) + timeOfDay - offset).getTime()
  const at = new Date(Math.max(selected.from, Math.min(time, selected.to - 1)))
  return { at, asOf: new Date(selected.from), selected }
}

const DAY_MS = 86_400_000

function onDate(date: string, realTime: Date, zone: DateTime['zone'] | string): Date {
  const { hour, minute, second, millisecond } = DateTime.fromJSDate(realTime, { zone })
  return storable(DateTime.fromISO(date, { zone }).set({ hour, minute, second, millisecond }).toMillis())
}

function storable(time: number): Date {
  return new Date(Math.max(EARLIEST_MOMENT, Math.min(time, LATEST_MOMENT - 1)))
}

/** Returns the day, week (from Monday), or month that contains a time in a zone. Days can have 23 to 25 hours. */
export function periodOf({ unit, timezone }: NonNullable<RedemptionPolicy['perPeriod']>, at: Date): Range {
  const start = firstInstant(DateTime.fromJSDate(at, { zone: oneSpelling(timezone) }).startOf(unit))
  return { from: start.toMillis(), to: firstInstant(start.plus({ [unit]: 1 }).startOf(unit)).toMillis() }
}

/**
 * Returns the first instant of a local time. If clocks go back across midnight, midnight occurs twice, and the day
 * starts at the first midnight.
 */
function firstInstant(local: DateTime): DateTime {
  return local.getPossibleOffsets().reduce((first, other) => (other < first ? other : first))
}
