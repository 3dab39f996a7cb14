import type { PageWords } from './page-words.ts'
import { arabic } from './words/arabic.ts'
import { chinese } from './words/chinese.ts'
import { dutch } from './words/dutch.ts'
import { englishWords } from './words/english.ts'
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

/** A language that hosted pages speak. */
export interface PageLanguage {
  /** As BCP 47 has it, without a region. */
  tag: string
  /** As the visitor asked for it, with a region where he named one. */
  locale: string
  words: PageWords
}

/** What pages speak to whoever asks for no language of ours. */
export const english: PageLanguage = { tag: 'en', locale: 'en', words: englishWords }

const dictionaries: ReadonlyMap<string, PageWords> = new Map([
  ['en', englishWords],
  ['de', german],
  ['fr', french],
  ['es', spanish],
  ['pt', portuguese],
  ['it', italian],
  ['nl', dutch],
  ['pl', polish],
  ['tr', turkish],
  ['uk', ukrainian],
  ['ar', arabic],
  ['he', hebrew],
  ['ja', japanese],
  ['ko', korean],
  ['zh', chinese],
])

/** Languages of before, as old phones name them. */
const formerTags: ReadonlyMap<string, string> = new Map([['iw', 'he']])

/** A quality value (RFC 9110, 12.4.2); a language with any other is not asked for. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** More than any browser sends. */
const MAX_LANGUAGES = 30

/** The language that a visitor wants most of those that pages speak: by his `Accept-Language`, else English. */
export function pageLanguage(headers: Headers): PageLanguage {
  const wanted = (headers.get('accept-language') ?? '')
    .split(',', MAX_LANGUAGES)
    .map((item) => {
      const [locale = '', ...parameters] = item.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? '1'
      return { locale, weight: WEIGHT.test(weight) ? Number(weight) : 0 }
    })
    .filter(({ locale, weight }) => weight > 0 && /^[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3}$/i.test(locale))
    .toSorted((one, other) => other.weight - one.weight)
  for (const { locale } of wanted) {
    const language = locale.split('-')[0]!.toLowerCase()
    const tag = formerTags.get(language) ?? language
    const words = dictionaries.get(tag)
    if (words) return { tag, locale: tag + locale.slice(language.length), words }
  }
  return english
}
