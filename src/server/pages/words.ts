import type { Definition } from '../../core/contract/schemas/definition.ts'
import { type Platform, platformFacts } from '../../core/contract/schemas/platform.ts'
import { bareTag, nearestLanguage } from '../../core/rules/display/language-match.ts'
import type { SpokenLanguage } from '../../locales/languages.ts'
import { type PageWords, pagesTexts } from '../../locales/page-texts.ts'

export interface PageLanguage {
  /** The language tag (BCP 47), without a region. */
  tag: SpokenLanguage
  /** The locale that the visitor requested, with a region if given. */
  locale: string
  words: PageWords
  /** The language of the issuer's texts, one of the definition's languages; undefined if the definition names none. */
  ofTexts?: string
}

export const english: PageLanguage = { tag: 'en', locale: 'en', words: pagesTexts.en }

/** Fills in the names of wallets and of the first wallet's phone. In Italian, "a(d)" becomes "ad" before an A. */
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

/** A quality value (RFC 9110, 12.4.2). A language with any other value is ignored. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** The maximum number of languages that are read from the header, more than any browser sends. */
const MAX_LANGUAGES = 30

/**
 * Returns the languages of a page for the `Accept-Language` header of a visitor. The issuer's texts are in a requested
 * language of the definition, or else in the definition's default language. The words of the page are in the first
 * language with a translation, in this order: the language of the texts if the visitor requested it, the other
 * requested languages, the language of the texts, English.
 */
export function pageLanguage(headers: Headers, languages?: Definition['languages']): PageLanguage {
  const wanted = wantedLocales(headers)
  if (!languages) return ourLanguage(wanted)
  const found = nearestLanguage(wanted, [languages.default, ...languages.others])
  const ours = found ? [found.locale, found.language, ...wanted] : [...wanted, languages.default]
  return { ...ourLanguage(ours), ofTexts: found?.language ?? languages.default }
}

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
