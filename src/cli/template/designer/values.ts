import { Timestamp } from '../../../core/contract/schemas/common.ts'
import type { FieldDefinition, VariableFormat } from '../../../core/contract/schemas/definition.ts'
import { fullStyles, toAppleValue } from '../../../core/rules/display/apple-value.ts'
import { currencies } from '../../../core/rules/display/format-value.ts'
import { formatPatterns } from '../../../core/rules/template/variables.ts'
import type { JsonObject } from './report.ts'
import { DEFAULT_LANGUAGE } from './texts.ts'

/** The value of a field of pass.json, as a design expresses it. */
export interface ReadValue extends Pick<FieldDefinition, 'as' | 'style' | 'currency'> {
  format: VariableFormat
  /** The value in the form of a variable, such as 15 for 0.15 with the percent style. */
  text: string
  /** The keys of pass.json that a design cannot express. */
  lost: string[]
}

const NUMBER = new RegExp(formatPatterns.number.pattern)

/**
 * Reads the value of a field. `inApple` means that `text` must also be a value of pass.json, because a field of `apple`
 * shows the same variable.
 */
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
  if (numberStyle !== 'PKNumberStylePercent') return { text, lost: ['numberStyle'] }
  // Convert the percentage, which is a fraction in pass.json: 0.15 is 15 %.
  const percent = Math.round(Number(text) * 1e8) / 1e6
  if (inApple) return { as: 'number', text, lost: ['numberStyle'] }
  return Number.isInteger(percent)
    ? { as: 'percent', text: String(percent), lost: [] }
    : { as: 'percent', text: String(percent), lost: ['numberStyle'] }
}

const dateKeys = ['dateStyle', 'timeStyle', 'isRelative', 'ignoresTimeZone'] as const

/**
 * Finds the field type that fits the styles of a date in pass.json. `lost` lists the keys that the type would change.
 */
function readDate(field: JsonObject, date: string, inApple: boolean): ReadValue {
  const [day, time] = [field.dateStyle, field.timeStyle].map((name) => {
    const style = fullStyles.get(name)
    return style === 'full' ? 'long' : style
  })
  const as = typeOf(day !== undefined, time !== undefined, field.isRelative === true)
  if (as === undefined) return { format: 'date-time', text: date, lost: [] }
  const style = (as === 'time' ? (time === 'long' ? 'medium' : time) : day) ?? 'short'
  const [, onDay = '', atTime = ''] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)/.exec(date) ?? []
  const isFixed = field.ignoresTimeZone === true && !inApple && (as === 'time' || time === undefined)
  const [format, text] = !isFixed
    ? (['date-time', date] as const)
    : as === 'time'
      ? (['text', atTime] as const)
      : (['date', onDay] as const)
  const shown = toAppleValue(text, { as, style }, { language: DEFAULT_LANGUAGE })
  const isSame = (key: (typeof dateKeys)[number]) => {
    const [own, other] = [field[key], shown[key]]
    return own === other || (!fullStyles.has(own) && own !== true && !fullStyles.has(other) && other !== true)
  }
  const lost = dateKeys.filter((key) => !isSame(key))
  // `lost` can contain a key that the field lacks, because the type `relative` adds it. Report `isRelative` instead.
  return { as, style, format, text, lost: lost.map((key) => (field[key] === undefined ? 'isRelative' : key)) }
}

function typeOf(hasDay: boolean, hasTime: boolean, isRelative: boolean): ReadValue['as'] {
  if (!hasDay && !hasTime) return undefined
  if (isRelative) return 'relative'
  return hasDay ? (hasTime ? 'dateTime' : 'date') : 'time'
}

/** Returns a number as the text of a variable; `undefined` if it needs an exponent. */
export function toNumberText(value: number): string | undefined {
  const text = String(value)
  return NUMBER.test(text) ? text : undefined
}

export function toTimestamp(value: unknown): string | undefined {
  return typeof value === 'string' && Timestamp.safeParse(value).success ? value : undefined
}
