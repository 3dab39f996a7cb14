import english from '../../../locales/en/scans.json' with { type: 'json' }
import type { SpokenLanguage } from '../../../locales/languages.ts'
import { type DoorWords, scansTexts } from '../../../locales/scan-texts.ts'

/** The language and time zone of messages to an operator at a door. */
export interface DoorLanguage {
  /** BCP 47. The format of times and numbers. */
  locale: string
  words: DoorWords
  /** The IANA time zone of the door. If undefined, messages use the zone of the pass's policy. */
  zone?: string | undefined
}

/** The default language. */
export const doorEnglish: DoorLanguage = { locale: 'en', words: english }

/**
 * Returns the language of a door.
 * @param locale the language with its region; ignored if `Intl` does not know it, such as `de-a`
 */
export function doorLanguage(tag: SpokenLanguage, locale: string = tag, zone?: string): DoorLanguage {
  return { locale: knownLocale(locale) ?? tag, words: scansTexts[tag], zone }
}

/** Returns the locale that `Intl` resolves a text to. There are a few hundred, but millions of well-formed texts. */
function knownLocale(text: string): string | undefined {
  try {
    return new Intl.Locale(new Intl.DateTimeFormat(text).resolvedOptions().locale).baseName
  } catch {
    return undefined
  }
}
