import { directionOfLanguage, nearestLanguage } from '../core/rules/display/language-match.ts'
import { type DeskWords, deskTexts } from '../locales/desk-texts.ts'
import { type SpokenLanguage, spokenLanguages } from '../locales/languages.ts'

/** The language of the page, with its texts and formats. */
export interface DeskLanguage {
  tag: SpokenLanguage
  direction: 'ltr' | 'rtl'
  words: DeskWords
  /** Formats a number in the browser's locale. */
  number(value: number): string
  /** Formats a number with few characters, such as 12K. */
  short(value: number): string
  /** Formats a size in binary units, such as 10 GiB. */
  bytes(value: number): string
  time(at: string): string
  moment(at: string): string
  /** Formats a duration in the largest unit that fits, such as `3 min. ago`. */
  ago(ms: number): string
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

const TIME_UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** Returns the first supported language of the browser, or English. */
export async function deskLanguage(locales: readonly string[]): Promise<DeskLanguage> {
  const found = nearestLanguage(locales, spokenLanguages)
  const tag = (found?.language ?? 'en') as SpokenLanguage
  const locale = found?.locale ?? 'en'
  const numbers = new Intl.NumberFormat(locale)
  const shortNumbers = new Intl.NumberFormat(locale, { notation: 'compact' })
  const times = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })
  const sizes = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const agos = new Intl.RelativeTimeFormat(locale, { style: 'short' })
  const moments = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
  return {
    tag,
    direction: directionOfLanguage(tag),
    words: await deskTexts[tag](),
    number: (value) => numbers.format(value),
    short: (value) => shortNumbers.format(value),
    time: (at) => times.format(new Date(at)),
    moment: (at) => moments.format(new Date(at)),
    bytes(value) {
      const power = value < 1 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), BYTE_UNITS.length - 1)
      return `${sizes.format(value / 1024 ** power)} ${BYTE_UNITS[power]}`
    },
    ago(ms) {
      const [unit, size] = TIME_UNITS.find(([, size]) => ms >= size) ?? TIME_UNITS.at(-1)!
      return agos.format(-Math.floor(ms / size), unit)
    },
  }
}
