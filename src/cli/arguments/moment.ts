import { Flags } from '@oclif/core'
import { CalendarDate, Timestamp } from '../../core/contract/schemas/common.ts'
import { UsageError } from '../command/cli-error.ts'

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 }

/**
 * Parses a time: an ISO 8601 date-time with an offset, or a duration from now, such as `in 2h` or `in 1d 12h`.
 * @throws UsageError
 */
export function parseMoment(text: string, now: Date): Date {
  return findMoment(text, now) ?? throwUsageError(text, 'a time from now: "in 2h"')
}

/**
 * Parses a time that is usually in the past: `12h` is twelve hours ago.
 * @throws UsageError
 */
export function parsePast(text: string, now: Date): Date {
  const [, span] = /^\s*(\d+[smhd])(?:\s+ago)?\s*$/i.exec(text) ?? []
  const past = span === undefined ? findMoment(text, now) : shift(now, -secondsOf(span))
  return past ?? throwUsageError(text, 'how long ago: 12h')
}

/**
 * Parses an end time: a date (its first instant in UTC), a date-time, `in 30d`, or `never`, which is `null`.
 * @throws UsageError
 */
export function parseEnd(text: string, now: Date): Date | null {
  if (text === 'never') return null
  const date = CalendarDate.safeParse(text)
  return date.success ? new Date(`${date.data}T00:00:00Z`) : parseMoment(text, now)
}

export const lifetimeFlag = Flags.string({
  summary: 'Lifetime, such as 3s, 15m, 12h, or 30d; or never (default: a year).',
})

/** Parses a lifetime. Returns `null` for `never`, and `undefined` if the flag was omitted. @throws UsageError */
export function parseLifetime(text: string | undefined, now: Date): Date | null | undefined {
  if (text === undefined) return undefined
  return text === 'never' ? null : shift(now, parseDuration(text, '--expires-in'))
}

export function parseDuration(text: string, flag: string): number {
  if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return secondsOf(text)
  throw new UsageError(`${flag} must be a duration such as 3s, 15m, 12h, or 30d, not "${text}"`)
}

function findMoment(text: string, now: Date): Date | undefined {
  const [, spans] = /^\s*in\s+((?:\d+\s*[smhd]\s*)+)$/i.exec(text) ?? []
  if (spans !== undefined) return shift(now, secondsOf(spans))
  const timestamp = Timestamp.safeParse(text)
  return timestamp.success ? new Date(timestamp.data) : undefined
}

function secondsOf(spans: string): number {
  return [...spans.matchAll(/(\d+)\s*([smhd])/gi)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * unitSeconds[unit!.toLowerCase() as keyof typeof unitSeconds],
    0,
  )
}

/** Returns `undefined` if the result is outside the range of dates. */
function shift(at: Date, seconds: number): Date | undefined {
  const shifted = new Date(at.getTime() + seconds * 1000)
  return Number.isNaN(shifted.getTime()) ? undefined : shifted
}

function throwUsageError(text: string, relative: string): never {
  throw new UsageError(`${text} is not a time`, {
    hint: `give an ISO 8601 date-time with Z or an offset, such as 2027-05-31T19:30:00+02:00, or ${relative}.`,
  })
}
