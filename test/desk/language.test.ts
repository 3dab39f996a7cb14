import { expect, test } from 'vitest'
import { deskLanguage } from '../../src/desk/language.ts'

const tags = ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl', 'tr', 'uk', 'ar', 'he', 'ja', 'ko', 'zh']

test('the desk speaks fifteen languages, each with all its words and none of them empty', async () => {
  const english = (await deskLanguage(['en'])).words
  for (const tag of tags) {
    const { tag: spoken, words } = await deskLanguage([`${tag}-XX`])
    expect(spoken).toBe(tag)
    expect(Object.keys(words)).toEqual(Object.keys(english))
    expect(Object.values(words).filter((word) => word.trim() === '')).toEqual([])
    // Columns of one table are told apart by their headings.
    const { time, pass, gate, result, reason, message, status, waiting, sent, failed, error, commands } = words
    for (const table of [
      [time, pass, gate, result, reason, commands],
      [gate, words.accepted, words.denied],
      [message, status, waiting, sent, failed, error],
      [time, words.event, words.attempts, error, commands],
      [words.name, gate, words.lastSeen, words.pendingScans],
      [words.name, words.used, words.allowed],
      [words.name, words.platform, words.daysLeft],
      [words.device, words.installed, words.holds, status, error],
    ]) {
      expect(new Set(table).size, `${tag}: ${table}`).toBe(table.length)
    }
  }
})

test('numbers are written as the browser does, and an unknown language is spoken to in English', async () => {
  expect((await deskLanguage(['de-CH', 'en'])).number(1234567)).toBe(new Intl.NumberFormat('de-CH').format(1234567))
  expect((await deskLanguage(['tlh'])).tag).toBe('en')
  expect((await deskLanguage(['he'])).direction).toBe('rtl')
})
