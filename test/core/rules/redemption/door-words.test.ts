import { expect, test } from 'vitest'
import { doorEnglish, doorLanguage } from '../../../../src/core/rules/redemption/door-language.ts'

const tags = ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl', 'tr', 'uk', 'ar', 'he', 'ja', 'ko', 'zh'] as const

/** The names that each text fills in, by the place of the text. */
function namesIn(words: object): [place: string, names: string[]][] {
  return Object.entries(words).flatMap(([key, text]): [string, string[]][] =>
    typeof text === 'string'
      ? [[key, [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!))].toSorted()]]
      : namesIn(text).map(([inner, names]) => [`${key}.${inner}`, names]),
  )
}

test.each(tags)('in %s each message has the placeholders of the English one, and its own text', (tag) => {
  const { words } = doorLanguage(tag)
  expect(namesIn(words)).toEqual(namesIn(doorEnglish.words))
  if (tag !== 'en') expect(words).not.toBe(doorEnglish.words)
})

test('a region that Intl does not know is left out', () => {
  expect(doorLanguage('de', 'de-AT').locale).toBe('de-AT')
  expect(doorLanguage('de', 'de-a').locale).toBe('de')
})
