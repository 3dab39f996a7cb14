import { directionOfLanguage, nearestLanguage, type SpokenLanguage } from '../../core/rules/display/language-match.ts'
import type { AppWords } from './app-words.ts'
import { arabic } from './words/arabic.ts'
import { chinese } from './words/chinese.ts'
import { dutch } from './words/dutch.ts'
import { english } from './words/english.ts'
import { french } from './words/french.ts'
import { german } from './words/german.ts'
import { hebrew } from './words/hebrew.ts'
import { italian } from './words/italian.ts'
import { japanese } from './words/japanese.ts'
import { korean } from './words/korean.ts'
import { polish } from './words/polish.ts'
import { portuguese } from './words/portuguese.ts'
import { spanish } from './words/spanish.ts'
import { turkish } from './words/turkish.ts'
import { ukrainian } from './words/ukrainian.ts'

/** What the operator is spoken to in. */
export interface AppLanguage {
  tag: SpokenLanguage
  /** As the phone names it, with a region where it has one: how times and numbers are written. */
  locale: string
  direction: 'ltr' | 'rtl'
  words: AppWords
}

/** What the page says in each language: a word that is missing does not compile. */
const dictionaries: Record<SpokenLanguage, AppWords> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
  pt: portuguese,
  it: italian,
  nl: dutch,
  pl: polish,
  tr: turkish,
  uk: ukrainian,
  ar: arabic,
  he: hebrew,
  ja: japanese,
  ko: korean,
  zh: chinese,
}

/** The first language of the phone that is spoken here, else English. */
export function appLanguage(locales: readonly string[]): AppLanguage {
  const found = nearestLanguage(locales, Object.keys(dictionaries))
  const tag = (found?.language ?? 'en') as SpokenLanguage
  return { tag, locale: found?.locale ?? 'en', direction: directionOfLanguage(tag), words: dictionaries[tag] }
}

/** A text with what stands in braces filled in; facts that are there as names are set apart from the text's direction. */
export function say(text: string, facts: Record<string, string | number | null>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const fact = facts[name] ?? ''
    return typeof fact === 'number' ? String(fact) : `\u2068${fact}\u2069`
  })
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** How long ago something was, such as "5 minutes ago". */
export function ago(at: Date, now: Date, { locale }: AppLanguage): string {
  const seconds = Math.max(0, (now.getTime() - at.getTime()) / 1000)
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? ['minute', 60]
  return new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(-Math.floor(seconds / size), unit)
}

/** A span of time in its largest unit, such as "7 minutes". */
export function span(ms: number, { locale }: AppLanguage): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? ['second', 1]
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.floor(seconds / size))
}

/** A time of day on the clock of the phone. */
export function clock(at: Date | string, { locale }: AppLanguage): string {
  return new Date(at).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' })
}
