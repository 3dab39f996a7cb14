import english from '../../../locales/en/scans.json' with { type: 'json' }
import type { SpokenLanguage } from '../../../locales/languages.ts'
import { type DoorWords, scansTexts } from '../../../locales/scans.ts'

/** The language and the clock that messages to an operator at the door use. */
export interface DoorLanguage {
  /** BCP 47: how times and numbers are written. */
  locale: string
  words: DoorWords
  /** The IANA time zone of the door. Without it, messages use the zone of the policy of the pass. */
  zone?: string | undefined
}

/** What is spoken where nothing else is asked for. */
export const doorEnglish: DoorLanguage = { locale: 'en', words: english }

/**
 * The language of a door.
 * @param locale the same with the region that was asked for; left out where Intl takes it for none, as `de-a`
 */
export function doorLanguage(tag: SpokenLanguage, locale: string = tag, zone?: string): DoorLanguage {
  return { locale: knownLocale(locale) ?? tag, words: scansTexts[tag], zone }
}

/** The locale that Intl writes a text as: one of a few hundred, where millions of texts are well-formed and mean no other. */
function knownLocale(text: string): string | undefined {
  try {
    return new Intl.Locale(new Intl.DateTimeFormat(text).resolvedOptions().locale).baseName
  } catch {
    return undefined
  }
}
