import { Timestamp } from '../../../core/contract/schemas/common.ts'
import type { FieldDefinition, VariableFormat } from '../../../core/contract/schemas/definition.ts'
import { currencies } from '../../../core/rules/display/format-value.ts'
import { formatPatterns } from '../../../core/rules/template/variables.ts'
import type { JsonObject } from './report.ts'

/** The value of a field of pass.json, as a design has it. */
export interface ReadValue extends Pick<FieldDefinition, 'as' | 'style' | 'currency'> {
  format: VariableFormat
  /** The value of a variable that the field shows. */
  text: string
  /** The keys of pass.json that a design cannot express. */
  lost: string[]
}

const NUMBER = new RegExp(formatPatterns.number.pattern)

/** `inApple`: whether `text` must also be a value of pass.json, because a field of `apple` shows the same variable. */
export function readValue(field: JsonObject, inApple: boolean): ReadValue {
  const { value, currencyCode, numberStyle, dateStyle, timeStyle } = field
  const text = String(value ?? '')
  const isNumber = NUMBER.test(text)
  const plain = { format: isNumber && typeof value === 'number' ? 'number' : 'text', text, lost: [] } as const
  if (currencyCode !== undefined || numberStyle !== undefined) {
    return isNumber ? { ...readNumber(field, text, inApple), format: 'number' } : { ...plain, lost: [] }
  }
  if (dateStyle !== undefined || timeStyle !== undefined) {
    const date = toTimestamp(text)
    if (date !== undefined) return readDate(field, date, inApple)
  }
  return { ...plain, lost: [] }
}

function readNumber(
  { currencyCode, numberStyle }: JsonObject,
  text: string,
  inApple: boolean,
): Omit<ReadValue, 'format'> {
  if (currencyCode !== undefined) {
    const currency = String(currencyCode)
    return currencies().includes(currency)
      ? { as: 'currency', currency, text, lost: [] }
      : { as: 'number', text, lost: ['currencyCode'] }
  }
  if (numberStyle === 'PKNumberStyleDecimal') return { as: 'number', text, lost: [] }
  // A percentage of pass.json is a fraction: 0.15 is 15 %.
  if (numberStyle !== 'PKNumberStylePercent') return { text, lost: ['numberStyle'] }
  const percent = Math.round(Number(text) * 1e8) / 1e6
  if (inApple) return { as: 'number', text, lost: ['numberStyle'] }
  return Number.isInteger(percent)
    ? { as: 'percent', text: String(percent), lost: [] }
    : { as: 'percent', text: String(percent), lost: ['numberStyle'] }
}

const dateStyles: Record<string, FieldDefinition['style']> = {
  PKDateStyleShort: 'short',
  PKDateStyleMedium: 'medium',
  PKDateStyleLong: 'long',
  PKDateStyleFull: 'long',
}

/** Returns `undefined` for a style that shows nothing. */
function styleOf(style: unknown): FieldDefinition['style'] {
  return typeof style === 'string' && Object.hasOwn(dateStyles, style) ? dateStyles[style] : undefined
}

function readDate(field: JsonObject, date: string, inApple: boolean): ReadValue {
  const [day, time] = [styleOf(field.dateStyle), styleOf(field.timeStyle)]
  const lost = ['dateStyle', 'timeStyle'].filter((key) => field[key] === 'PKDateStyleFull')
  const isFixed = field.ignoresTimeZone === true
  const dated = (value: Omit<ReadValue, 'format' | 'text' | 'lost'>, ...more: string[]): ReadValue => ({
    ...value,
    format: 'date-time',
    text: date,
    lost: [...lost, ...more],
  })
  const [, onDay = '', atTime = ''] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)/.exec(date) ?? []
  if (field.isRelative === true && (day ?? time) !== undefined) {
    const style = day ?? 'short'
    if (isFixed && time === undefined && !inApple) return { as: 'relative', style, format: 'date', text: onDay, lost }
    return dated({ as: 'relative', style }, ...(isFixed || time !== 'short' ? ['isRelative'] : []))
  }
  if (day !== undefined && time === undefined) {
    if (isFixed && !inApple) return { as: 'date', style: day, format: 'date', text: onDay, lost }
    return dated({ as: 'date', style: day }, ...(isFixed ? ['ignoresTimeZone'] : []))
  }
  if (day !== undefined) {
    return dated(
      { as: 'dateTime', style: day },
      ...(time === 'short' ? [] : ['timeStyle']),
      ...(isFixed ? ['ignoresTimeZone'] : []),
    )
  }
  if (time !== undefined) {
    const style = time === 'long' ? 'medium' : time
    if (time === 'long') lost.push('timeStyle')
    if (isFixed && !inApple) return { as: 'time', style, format: 'text', text: atTime, lost }
    return dated({ as: 'time', style }, ...(isFixed ? ['ignoresTimeZone'] : []))
  }
  return dated({})
}

/** Returns a number as the text of a variable; `undefined` if it needs an exponent. */
export function toNumberText(value: number): string | undefined {
  const text = String(value)
  return NUMBER.test(text) ? text : undefined
}

/** Returns a date of pass.json as a date-time of a variable, or `undefined`. */
export function toTimestamp(value: unknown): string | undefined {
  return typeof value === 'string' && Timestamp.safeParse(value).success ? value : undefined
}
