import { z } from 'zod'
import type { FieldDefinition } from '../../contract/schemas/definition.ts'
import { inZone } from './about.ts'
import type { CardField } from './card.ts'
import { formatMoment, formatValue, isOfKind, localeOfValue, type ValueLocale, type ValueType } from './format-value.ts'
import { directionOfLanguage } from './language-match.ts'

export interface AppleValue {
  value: string | number
  numberStyle?: string
  currencyCode?: string
  dateStyle?: string
  timeStyle?: string
  isRelative?: boolean
  ignoresTimeZone?: boolean
}

const dateStyles = { short: 'PKDateStyleShort', medium: 'PKDateStyleMedium', long: 'PKDateStyleLong' } as const
const NO_DATE = 'PKDateStyleNone'

/**
 * Returns a typed value, which an iPhone formats in its own language. If an iPhone would change the value, such as a
 * number with too many digits for a double, returns the formatted text instead.
 */
export function toAppleValue(text: string, type: ValueType, ofCard: ValueLocale): AppleValue {
  const locale = localeOfValue(type, ofCard)
  const { as = 'text', currency = '', style = 'short' } = type
  const asText = { value: formatValue(text, type, locale) }
  if (as === 'text' || !isOfKind(as, text)) return asText
  switch (as) {
    case 'number': {
      const value = exactNumber(text)
      return value === undefined ? asText : { value, numberStyle: 'PKNumberStyleDecimal' }
    }
    case 'percent': {
      // iPhones multiply percentages by 100, so divide by 100. They round 12.5 to 13 %, so write fractions as text.
      const value = exactNumber(text)
      return value === undefined || !Number.isInteger(value)
        ? asText
        : { value: value / 100, numberStyle: 'PKNumberStylePercent' }
    }
    case 'currency': {
      const value = exactNumber(text)
      return value === undefined || !/^[A-Z]{3}$/.test(currency) ? asText : { value, currencyCode: currency }
    }
    case 'date':
      return { ...momentIn(text, locale), dateStyle: dateStyles[style], timeStyle: NO_DATE }
    case 'time':
      // Replace the long style. It would add the name of a zone that can differ from the zone of the value.
      return {
        ...momentIn(text, locale),
        dateStyle: NO_DATE,
        timeStyle: dateStyles[style === 'long' ? 'medium' : style],
      }
    case 'dateTime':
      return { ...momentIn(text, locale), dateStyle: dateStyles[style], timeStyle: dateStyles.short }
    case 'relative': {
      const timeStyle = text.includes('T') ? dateStyles.short : NO_DATE
      return { ...momentIn(text, locale), dateStyle: dateStyles[style], timeStyle, isRelative: true }
    }
  }
}

/** The number of decimal digits that a double always represents exactly. */
const EXACT_DIGITS = 15

function exactNumber(text: string): number | undefined {
  return text.replace(/^-?0*\.?0*/, '').replace('.', '').length <= EXACT_DIGITS ? Number(text) : undefined
}

/**
 * Returns a date or time in a form that phones do not convert to their time zone. Exception: if the card has no time
 * zone, phones convert a date-time.
 */
function momentIn(text: string, { timeZone }: ValueLocale): Pick<AppleValue, 'value' | 'ignoresTimeZone'> {
  if (!text.includes('T')) {
    const isTime = text.includes(':')
    return { value: isTime ? `1970-01-01T${text}Z` : `${text}T00:00:00Z`, ignoresTimeZone: true }
  }
  if (timeZone === undefined) return { value: text }
  return { value: inZone(text, timeZone), ignoresTimeZone: true }
}

type Alignment = NonNullable<FieldDefinition['align']>

/** Returns Apple's name of an alignment. Apple uses left and right instead of start and end. */
export function toAlignment(align: Alignment, { language }: ValueLocale): string {
  if (align === 'center') return 'PKTextAlignmentCenter'
  return (align === 'start') === (directionOfLanguage(language) === 'rtl')
    ? 'PKTextAlignmentRight'
    : 'PKTextAlignmentLeft'
}

/** Returns the alignment of a field in pass.json, or `undefined` if pass.json leaves the alignment to the phone. */
export function readAlignment(textAlignment: unknown, { language }: ValueLocale): Alignment | undefined {
  if (textAlignment === 'PKTextAlignmentCenter') return 'center'
  if (textAlignment !== 'PKTextAlignmentLeft' && textAlignment !== 'PKTextAlignmentRight') return undefined
  return (textAlignment === 'PKTextAlignmentLeft') === (directionOfLanguage(language) === 'rtl') ? 'end' : 'start'
}

/** The date styles of Apple. `PKDateStyleNone` and other texts show nothing. */
export const fullStyles = new Map<unknown, 'short' | 'medium' | 'long' | 'full'>([
  ['PKDateStyleShort', 'short'],
  ['PKDateStyleMedium', 'medium'],
  ['PKDateStyleLong', 'long'],
  ['PKDateStyleFull', 'full'],
])

const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|[+-]\d\d:\d\d)$/

const Field = z.looseObject({ key: z.string(), label: z.string().default(''), value: z.coerce.string() })

/** Returns the fields of a group in pass.json, as an iPhone in the given language shows them. Omits invalid fields. */
export function readAppleFields(fields: unknown, locale: ValueLocale): CardField[] {
  return (Array.isArray(fields) ? fields : []).flatMap((value) => {
    const { data } = Field.safeParse(value)
    return data ? [readAppleField(data, locale)] : []
  })
}

/** Returns a field of pass.json as an iPhone in the given language shows it. */
export function readAppleField(
  field: { key: string; label: string } & Record<string, unknown>,
  locale: ValueLocale,
): CardField {
  const align = readAlignment(field.textAlignment, locale)
  return { key: field.key, label: field.label, value: readAppleValue(field, locale), ...(align && { align }) }
}

function readAppleValue(field: Record<string, unknown>, locale: ValueLocale): string {
  const { numberStyle, currencyCode, ignoresTimeZone } = field
  const text = String(field.value)
  if (typeof currencyCode === 'string') return formatValue(text, { as: 'currency', currency: currencyCode }, locale)
  if (numberStyle === 'PKNumberStyleDecimal') return formatValue(text, { as: 'number' }, locale)
  if (numberStyle === 'PKNumberStylePercent') {
    return formatValue(String(Math.round(Number(text) * 100)), { as: 'percent' }, locale)
  }
  const [dateStyle, timeStyle] = [fullStyles.get(field.dateStyle), fullStyles.get(field.timeStyle)]
  const local = MOMENT.exec(text)?.[1]
  if (local === undefined || (dateStyle === undefined && timeStyle === undefined)) return text
  const style = { ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }) }
  // If the field has `ignoresTimeZone`, drop the offset, so that the date-time is not converted to another zone.
  return formatMoment(ignoresTimeZone === true ? local : text, style, locale)
}
