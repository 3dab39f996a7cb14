import type { Definition } from '../../core/contract/definition.ts'
import { type Platform, platformFacts } from '../../core/contract/platform.ts'
import { bareTag, nearestLanguage } from '../../core/rules/display/language-match.ts'
import type { SpokenLanguage } from '../../locales/languages.ts'
import { type PageWords, pagesTexts } from '../../locales/pages.ts'

/** A language that hosted pages speak. */
export interface PageLanguage {
  /** As BCP 47 has it, without a region. */
  tag: SpokenLanguage
  /** As the visitor asked for it, with a region where he named one. */
  locale: string
  words: PageWords
  /** What the issuer's texts are shown in, of the languages that their definition names; undefined where it names none. */
  ofTexts?: string
}

/** What pages speak to whoever asks for no language of ours. */
export const english: PageLanguage = { tag: 'en', locale: 'en', words: pagesTexts.en }

/**
 * Fills in the names of wallets in a sentence of the language, and the phones that have the first of them. In Italian, "a(d)"
 * becomes "ad" before an A.
 */
export function nameWallets(sentence: string, platforms: readonly Platform[], { words, tag }: PageLanguage): string {
  const facts = platforms.map((platform) => platformFacts[platform])
  const names = facts.map(({ wallet, walletIn }) => walletIn?.[tag] ?? wallet)
  const [first = '', ...others] = names
  const wallets = others.reduce((some, other) => words.or.replace('{wallet}', some).replace('{other}', other), first)
  return sentence
    .replace('{wallet}', wallets)
    .replace('{phone}', facts[0]?.phone === 'iphone' ? 'iPhone' : words.androidPhone)
    .replaceAll(/a\(d\) (.)/g, (_, letter: string) => `${letter === 'A' ? 'ad' : 'a'} ${letter}`)
}

/** A quality value (RFC 9110, 12.4.2); a language with any other is not asked for. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** More than any browser sends. */
const MAX_LANGUAGES = 30

/**
 * The language that a visitor wants most of those that pages speak: by his `Accept-Language`, else English. Of a definition
 * that names languages, the one that he wants most of them, and our own words in that; who wants none of them reads the
 * issuer's texts in the default and our words in his language.
 */
export function pageLanguage(headers: Headers, languages?: Definition['languages']): PageLanguage {
  const wanted = wantedLocales(headers)
  if (!languages) return ourLanguage(wanted)
  const found = nearestLanguage(wanted, [languages.default, ...languages.others])
  const ours = found ? [found.locale, found.language, ...wanted] : [...wanted, languages.default]
  return { ...ourLanguage(ours), ofTexts: found?.language ?? languages.default }
}

/** As `Accept-Language` names them, the most wanted first. */
function wantedLocales(headers: Headers): string[] {
  return (headers.get('accept-language') ?? '')
    .split(',', MAX_LANGUAGES)
    .map((item) => {
      const [locale = '', ...parameters] = item.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? '1'
      return { locale, weight: WEIGHT.test(weight) ? Number(weight) : 0 }
    })
    .filter(({ locale, weight }) => weight > 0 && /^[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3}$/i.test(locale))
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ locale }) => locale)
}

function isSpoken(tag: string): tag is SpokenLanguage {
  return Object.hasOwn(pagesTexts, tag)
}

function ourLanguage(locales: readonly string[]): PageLanguage {
  for (const locale of locales) {
    const tag = bareTag(locale)
    if (!isSpoken(tag)) continue
    return { tag, locale: tag + locale.slice(locale.split('-')[0]!.length), words: pagesTexts[tag] }
  }
  return english
}
