import { expect, test } from 'vitest'
import { deskLanguage } from '../../src/desk/language.ts'
import { spokenLanguages } from '../../src/locales/languages.ts'

test('the desk has all texts in fifteen languages, none of them empty', async () => {
  const english = (await deskLanguage(['en'])).words
  for (const tag of spokenLanguages) {
    const { tag: spoken, words } = await deskLanguage([`${tag}-XX`])
    expect(spoken).toBe(tag)
    expect(Object.keys(words)).toEqual(Object.keys(english))
    const textsOf = (word: string | object): string[] =>
      typeof word === 'string' ? [word] : Object.values(word).flatMap(textsOf)
    const texts = textsOf(words)
    expect(texts.filter((text) => text.trim() === '')).toEqual([])
    // The headings of the columns of a table differ.
    const { time, pass, gate, result, reason, message, status, waiting, sent, failed, error, commands } = words
    for (const table of [
      [time, pass, gate, result, reason, commands],
      [gate, words.accepted, words.denied, words.perMinute],
      [message, status, waiting, sent, failed, error],
      [time, words.event, words.attempts, error, words.nextAttempt, commands],
      [words.name, gate, words.lastSeen, words.pendingScans],
      [words.zone, words.inside, status, words.perMinute],
      [time, words.entries, words.exits, words.inside],
      [words.name, words.used, words.allowed],
      [words.name, words.platform, words.daysLeft],
      [words.device, words.installed, words.holds, status, error],
    ]) {
      expect(new Set(table).size, `${tag}: ${table}`).toBe(table.length)
    }
  }
})

test('writes bytes in binary units and durations in the largest unit that fits', async () => {
  const { bytes, ago } = await deskLanguage(['en'])
  expect([0, 1023, 1024, 10_737_418_240].map(bytes)).toEqual(['0 B', '1,023 B', '1 KiB', '10 GiB'])
  expect([0, 59_999, 60_000, 3_600_000, 90_000_000].map(ago)).toEqual([
    '0 sec. ago',
    '59 sec. ago',
    '1 min. ago',
    '1 hr. ago',
    '1 day ago',
  ])
})

test('formats numbers as the browser does, and uses English for an unknown language', async () => {
  expect((await deskLanguage(['de-CH', 'en'])).number(1234567)).toBe(new Intl.NumberFormat('de-CH').format(1234567))
  expect((await deskLanguage(['tlh'])).tag).toBe('en')
  expect((await deskLanguage(['he'])).direction).toBe('rtl')
})
