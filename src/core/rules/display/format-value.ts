import { dateTimeParts, timestampPattern } from '../../contract/schemas/common.ts'
import type { FieldDefinition, ValueKind } from '../../contract/schemas/definition.ts'
import { dateFormat, numberFormat, writeMoment } from '../../formats.ts'

/** The type and format of a value. The placeholders of the currency are filled. */
export interface ValueType extends Pick<FieldDefinition, 'as' | 'currency' | 'style'> {
  /** The zone of the stop if the value is a time of a trip: an IANA name, or an offset such as UTC+2. */
  timeZone?: string | undefined
}

export interface ValueLocale {
  /** A language tag (BCP 47). */
  language: string
  /** The time zone: an IANA name, or an offset such as UTC+2. */
  timeZone?: string | undefined
  /** The time zone if `timeZone` is not set: an IANA name or an offset such as UTC+5:30. The default is UTC. */
  fallbackZone?: string | undefined
}

const NUMBER = '-?(?:0|[1-9][0-9]{0,29})(?:\\.[0-9]{1,18})?'
const { date, time } = dateTimeParts
const moment = timestampPattern.slice(1, -1)

/** The pattern (without anchors) of each kind of value, and its description in messages. */
export const valueKinds: Record<Exclude<ValueKind, 'text'>, { pattern: string; wanted: string }> = {
  number: { pattern: NUMBER, wanted: 'a number such as 1250 or -0.5' },
  percent: { pattern: NUMBER, wanted: 'a percentage such as 15 or 2.5' },
  currency: { pattern: NUMBER, wanted: 'an amount such as 12.50' },
  date: { pattern: `(?:${date}|${moment})`, wanted: 'a date such as 2027-05-31, or a date-time' },
  time: { pattern: `(?:${time}|${moment})`, wanted: 'a time such as 19:30, or a date-time' },
  dateTime: { pattern: moment, wanted: 'a date-time such as 2027-05-31T19:30:00Z' },
  relative: { pattern: `(?:${date}|${moment})`, wanted: 'a date such as 2027-05-31, or a date-time' },
}

const patterns = new Map(
  Object.entries(valueKinds).map(([kind, { pattern }]) => [kind, new RegExp(`^${pattern}$`)] as const),
)

/** Whether a text is a valid value of a kind. Any text is a valid `text`. */
export function isOfKind(kind: ValueKind, text: string): boolean {
  return patterns.get(kind)?.test(text) ?? true
}

export function isNumberKind(kind: ValueKind | undefined): kind is 'number' | 'percent' | 'currency' {
  return kind === 'number' || kind === 'percent' || kind === 'currency'
}

let knownCurrencies: readonly string[] | undefined

export function currencies(): readonly string[] {
  knownCurrencies ??= Intl.supportedValuesOf('currency')
  return knownCurrencies
}

/**
 * Formats a value in the language of a card, in the same way for wallets, pages, and terminals. Returns an invalid
 * value unchanged. A number keeps all its digits.
 */
export function formatValue(value: string, type: ValueType, ofCard: ValueLocale): string {
  const locale = localeOfValue(type, ofCard)
  const { as = 'text', currency = '', style = 'short' } = type
  if (as === 'text' || !isOfKind(as, value)) return value
  switch (as) {
    case 'number':
      return formatNumber(value, {}, locale)
    case 'percent':
      // The style `percent` would multiply the value by 100 and round it.
      return formatNumber(value, { style: 'unit', unit: 'percent' }, locale)
    case 'currency':
      return /^[A-Z]{3}$/.test(currency) ? formatNumber(value, { style: 'currency', currency }, locale) : value
    case 'date':
      return formatMoment(value, { dateStyle: style }, locale)
    case 'time':
      return formatMoment(value, { timeStyle: style }, locale)
    case 'dateTime':
      return formatMoment(value, { dateStyle: style, timeStyle: 'short' }, locale)
    case 'relative':
      return formatMoment(value, { dateStyle: style, ...(hasTime(value) && { timeStyle: 'short' }) }, locale)
  }
}

/** A time of a trip uses the zone of its stop instead of the zone of the card. */
export function localeOfValue({ timeZone }: ValueType, locale: ValueLocale): ValueLocale {
  return timeZone === undefined ? locale : { ...locale, timeZone }
}

function formatNumber(text: string, options: Intl.NumberFormatOptions, { language }: ValueLocale): string {
  // Format the text itself, because a long value would lose digits if it were converted to a number.
  return numberFormat(language, options).format(text as Intl.StringNumericLiteral)
}

type MomentStyle = Pick<Intl.DateTimeFormatOptions, 'dateStyle' | 'timeStyle'>

/**
 * Formats a date or time. Converts a text with an offset to the zone of the locale, and adds a zone name to its time.
 */
export function formatMoment(text: string, style: MomentStyle, locale: ValueLocale): string {
  const { language, timeZone, fallbackZone = 'UTC' } = locale
  const { timeStyle } = style
  const isMoment = OFFSET.test(text)
  const [day, time] = text.includes('T') ? text.split('T') : hasTime(text) ? ['1970-01-01', text] : [text, '00:00']
  const at = new Date(isMoment ? text : `${day}T${time}Z`)
  const zone = isMoment ? (timeZone ?? fallbackZone) : 'UTC'
  // Use at most the time style `medium`. A longer style would add a zone name even to a text without a zone.
  const withoutName = {
    ...style,
    ...(timeStyle && ({ timeStyle: timeStyle === 'short' ? timeStyle : 'medium' } as const)),
  }
  const written = writeMoment(at, withoutName, language, zone)
  return isMoment && timeStyle !== undefined ? `${written} ${zoneName(at, zone, language)}` : written
}

const OFFSET = /(?:Z|[+-]\d\d:\d\d)$/

/** Returns the name of a zone at a time, such as GMT+1. */
function zoneName(at: Date, timeZone: string, language: string): string {
  if (timeZone.startsWith('UTC')) return timeZone
  const parts = dateFormat(language, { timeZone, timeZoneName: 'short' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')!.value
}

function hasTime(text: string): boolean {
  return text.includes(':')
}

export function withoutTrailingZeros(fraction: string): string {
  return fraction.slice(0, [...fraction].findLastIndex((digit) => digit !== '0') + 1)
}
