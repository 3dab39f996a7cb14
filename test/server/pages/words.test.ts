import { expect, test } from 'vitest'
import { ApiError } from '../../../src/core/errors.ts'
import { stringsDeep } from '../../../src/core/rules/template/placeholder.ts'
import { spokenLanguages } from '../../../src/locales/languages.ts'
import { linkProblemPage } from '../../../src/server/pages/link/link-problem-page.ts'
import { english, pageLanguage } from '../../../src/server/pages/words.ts'

const languageOf = (header: string) => pageLanguage(new Headers({ 'accept-language': header }))

test.each(spokenLanguages)('pages have every text in %s, in its writing direction', (tag) => {
  const language = languageOf(tag)
  expect(language.tag).toBe(tag)
  const said = [...stringsDeep(language.words)]
  const inEnglish = new Map([...stringsDeep(english.words)].map(({ path, text }) => [path.join('.'), text]))
  expect(said.map(({ path }) => path.join('.'))).toEqual([...inEnglish.keys()])
  const names = (text: string) => text.match(/\{\w+\}/g)
  for (const { path, text } of said) {
    const other = inEnglish.get(path.join('.'))!
    expect(names(text), text).toEqual(names(other))
    // A label of a wallet can be the same, such as Gate.
    expect(tag === 'en' || path[0] === 'wallet' || text !== other, text).toBe(true)
    expect(text, text).not.toMatch(/^\s|\s$|\s\s|^$/)
  }
  const { html } = linkProblemPage(
    new ApiError('LINK_INVALID', { details: { reason: 'expired' } }),
    'visit-1',
    language,
  )
  const direction = ['ar', 'he'].includes(tag) ? 'rtl' : 'ltr'
  expect(html).toContain(`<html lang="${tag}" dir="${direction}">`)
  expect(html).toContain(`<title>${language.words.problems.linkExpired.title}</title>`)
})

test.each([
  ['de-AT,de;q=0.9,en;q=0.8', 'de', 'de-AT'],
  ['sv, fr;q=0.5, pt-BR;q=0.7', 'pt', 'pt-BR'],
  ['iw-IL', 'he', 'he-IL'],
  ['zh-Hant-TW', 'zh', 'zh-Hant-TW'],
  ['de;q=0, fr;q=0.1', 'fr', 'fr'],
  ['de;q=5, fr', 'fr', 'fr'],
  ['de;Q=0.5, fr;q=0.7', 'fr', 'fr'],
  ['de;q=1e0, nl;q=0.001', 'nl', 'nl'],
  ['EN-us', 'en', 'en-us'],
  ['', 'en', 'en'],
  ['*', 'en', 'en'],
  ['sv', 'en', 'en'],
  ['constructor, __proto__, de"><script>', 'en', 'en'],
  [`${'x,'.repeat(5_000)}de`, 'en', 'en'],
])('Accept-Language %j gives %s', (header, tag, locale) => {
  expect(languageOf(header)).toMatchObject({ tag, locale })
})

const languages = { default: 'pt-BR', others: ['en', 'zh-Hans', 'zh-Hant', 'sv'] }

test.each([
  ['en-GB,de;q=0.5', 'en', 'en-GB', 'en'],
  ['de,en;q=0.5', 'en', 'en', 'en'],
  ['pt', 'pt', 'pt', 'pt-BR'],
  ['pt-PT, pt-BR;q=0.9', 'pt', 'pt-PT', 'pt-BR'],
  ['zh-TW', 'zh', 'zh-TW', 'zh-Hant'],
  ['zh-x1', 'zh', 'zh-x1', 'zh-Hans'],
  ['sv-SE, de;q=0.3', 'de', 'de', 'sv'],
  ['it, de', 'it', 'it', 'pt-BR'],
  ['fi', 'pt', 'pt-BR', 'pt-BR'],
  ['', 'pt', 'pt-BR', 'pt-BR'],
])(
  'Accept-Language %j selects the page language %s, the locale %s, and the pass language %s',
  (header, tag, locale, ofTexts) => {
    const asked = new Headers({ 'accept-language': header })
    expect(pageLanguage(asked, languages)).toMatchObject({ tag, locale, ofTexts })
  },
)
