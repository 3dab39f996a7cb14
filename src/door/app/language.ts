import { agoFormat, dateFormat, inLargestUnit, numberFormat } from '../../core/formats.ts'
import { directionOfLanguage, nearestLanguage } from '../../core/rules/display/language-match.ts'
import { type DoorWords, doorTexts } from '../../locales/door-texts.ts'
import { type SpokenLanguage, spokenLanguages } from '../../locales/languages.ts'

export interface AppLanguage {
  tag: SpokenLanguage
  /** The language tag of the phone, possibly with a region. It determines the format of times and numbers. */
  locale: string
  direction: 'ltr' | 'rtl'
  words: DoorWords
  number(value: number): string
  /** Formats a time of day in the phone's time zone. */
  clock(at: Date | string): string
  /** Formats the time from `at` to `now`, such as "5 minutes ago". */
  ago(at: Date, now: Date): string
  /** Formats a duration in its largest unit, such as "7 minutes". */
  span(ms: number): string
}

/** Returns the phone's first language that is supported, else English. */
export function appLanguage(locales: readonly string[]): AppLanguage {
  const found = nearestLanguage(locales, spokenLanguages)
  const tag = (found?.language ?? 'en') as SpokenLanguage
  const locale = found?.locale ?? 'en'
  return {
    tag,
    locale,
    direction: directionOfLanguage(tag),
    words: doorTexts[tag],
    number: (value) => numberFormat(locale).format(value),
    clock: (at) => dateFormat(locale, { hour: '2-digit', minute: '2-digit' }).format(new Date(at)),
    ago(at, now) {
      const { unit, count } = inLargestUnit(Math.max(0, (now.getTime() - at.getTime()) / 1000))
      const format = agoFormat(locale, { numeric: 'auto' })
      return unit === 'second' ? format.format(0, 'minute') : format.format(-count, unit)
    },
    span(ms) {
      const { unit, count } = inLargestUnit(Math.round(Math.abs(ms) / 1000))
      return numberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
    },
  }
}

/** Fills the placeholders in braces. Isolates text values, so that the text around them keeps its direction. */
export function say(text: string, facts: Record<string, string | number | null>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const fact = facts[name] ?? ''
    return typeof fact === 'number' ? String(fact) : `\u2068${fact}\u2069`
  })
}
