import { directionOfLanguage, nearestLanguage } from '../../core/rules/display/language-match.ts'
import { type AppWords, doorTexts } from '../../locales/door.ts'
import { type SpokenLanguage, spokenLanguages } from '../../locales/languages.ts'

/** What the operator is spoken to in. */
export interface AppLanguage {
  tag: SpokenLanguage
  /** As the phone names it, with a region where it has one: how times and numbers are written. */
  locale: string
  direction: 'ltr' | 'rtl'
  words: AppWords
}

/** The first language of the phone that is spoken here, else English. */
export function appLanguage(locales: readonly string[]): AppLanguage {
  const found = nearestLanguage(locales, spokenLanguages)
  const tag = (found?.language ?? 'en') as SpokenLanguage
  return { tag, locale: found?.locale ?? 'en', direction: directionOfLanguage(tag), words: doorTexts[tag] }
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
