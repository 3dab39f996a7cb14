import { agoFormat, dateFormat, inLargestUnit, numberFormat } from '../core/formats.ts'
import { directionOfLanguage, nearestLanguage } from '../core/rules/display/language-match.ts'
import { type DeskWords, deskTexts } from '../locales/desk-texts.ts'
import { type SpokenLanguage, spokenLanguages } from '../locales/languages.ts'

export interface DeskLanguage {
  tag: SpokenLanguage
  direction: 'ltr' | 'rtl'
  words: DeskWords
  /** Formats a number in the browser's locale. */
  number(value: number): string
  /** Formats a number with few characters, such as 12K. */
  short(value: number): string
  /** Formats a share, such as 0.8 as 80 %. */
  percent(share: number): string
  /** Formats a size in binary units, such as 10 GiB. */
  bytes(value: number): string
  time(at: string): string
  moment(at: string): string
  /** Formats a duration in the largest unit that fits, such as `3 min. ago`. */
  ago(ms: number): string
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Returns the first supported language of the browser, or English. */
export async function deskLanguage(locales: readonly string[]): Promise<DeskLanguage> {
  const found = nearestLanguage(locales, spokenLanguages)
  const tag = (found?.language ?? 'en') as SpokenLanguage
  const locale = found?.locale ?? 'en'
  return {
    tag,
    direction: directionOfLanguage(tag),
    words: await deskTexts[tag](),
    number: (value) => numberFormat(locale).format(value),
    short: (value) => numberFormat(locale, { notation: 'compact' }).format(value),
    percent: (share) => numberFormat(locale, { style: 'percent' }).format(share),
    time: (at) => dateFormat(locale, { timeStyle: 'short' }).format(new Date(at)),
    moment: (at) => dateFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at)),
    bytes(value) {
      const power = value < 1 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), BYTE_UNITS.length - 1)
      return `${numberFormat(locale, { maximumFractionDigits: 1 }).format(value / 1024 ** power)} ${BYTE_UNITS[power]}`
    },
    ago(ms) {
      const { unit, count } = inLargestUnit(ms / 1000)
      return agoFormat(locale, { style: 'short' }).format(-count, unit)
    },
  }
}
