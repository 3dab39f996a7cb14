import type { SpokenLanguage } from '../display/language-match.ts'
import type { DoorWords } from './door-words.ts'
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

/** The language and the clock that messages to an operator at the door use. */
export interface DoorLanguage {
  /** BCP 47: how times and numbers are written. */
  locale: string
  words: DoorWords
  /** The IANA time zone of the door. Without it, messages use the zone of the policy of the pass. */
  zone?: string | undefined
}

const dictionaries: Record<SpokenLanguage, DoorWords> = {
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

/** What is spoken where nothing else is asked for. */
export const doorEnglish: DoorLanguage = { locale: 'en', words: english }

/**
 * The language of a door.
 * @param locale the same with the region that was asked for; left out where Intl takes it for none, as `de-a`
 */
export function doorLanguage(tag: SpokenLanguage, locale: string = tag, zone?: string): DoorLanguage {
  return { locale: knownLocale(locale) ?? tag, words: dictionaries[tag], zone }
}

/** The locale that Intl writes a text as: one of a few hundred, where millions of texts are well-formed and mean no other. */
function knownLocale(text: string): string | undefined {
  try {
    return new Intl.Locale(new Intl.DateTimeFormat(text).resolvedOptions().locale).baseName
  } catch {
    return undefined
  }
}
