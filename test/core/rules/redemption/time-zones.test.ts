import { expect, onTestFinished, test, vi } from 'vitest'
import { bucketStarts } from '../../../../src/core/rules/lists/buckets.ts'
import { expiryDate, periodOf, placesInTime } from '../../../../src/core/rules/redemption/redemption-windows.ts'
import { doorLanguage, reversalMessage } from '../../../../src/core/rules/redemption/scan-message.ts'
import { isTimeZone } from '../../../../src/core/rules/redemption/time-zones.ts'

const at = new Date('2026-11-26T22:30:00Z')

/** Returns the number of `Intl` formats, 35 KiB each, that the work creates. luxon caches those with a name forever. */
function formatsMadeBy(work: () => void): number {
  const made = vi.spyOn(Intl, 'DateTimeFormat')
  onTestFinished(() => made.mockRestore())
  work()
  const count = made.mock.calls.length
  made.mockRestore()
  return count
}

/** Returns the n-th spelling of a name, in which each letter is upper or lower case. */
function spelling(name: string, n: number): string {
  return [...name].map((char, place) => ((n >> place) & 1 ? char.toUpperCase() : char.toLowerCase())).join('')
}

const uses: Record<string, (zone: string) => unknown> = {
  'what is a zone': isTimeZone,
  'figures over time': (zone) => bucketStarts({ from: new Date(0), to: at }, 'month', zone).length,
  'periods of a policy': (timezone) => periodOf({ unit: 'day', count: 1, timezone }, at),
  'an expiry': (timezone) => expiryDate(at, { perPeriod: { unit: 'day', count: 1, timezone } }),
  'a date that is scanned as of': (timezone) =>
    placesInTime({ perPeriod: { unit: 'day', count: 1, timezone } }, at, '2026-11-27'),
  'what a door is told': (timezone) => reversalMessage(at, { perPeriod: { unit: 'day', count: 1, timezone } }),
}

test.each(Object.entries(uses))('recognizes %s in any spelling', (_, use) => {
  const ofOne = use(spelling('Asia/Tokyo', 0))
  let others: unknown[] = []
  const made = formatsMadeBy(() => {
    others = Array.from({ length: 50 }, (_, n) => use(spelling('Asia/Tokyo', n)))
  })
  expect(made).toBe(0)
  if (typeof ofOne !== 'string' || !ofOne.includes('asia')) expect(others).toEqual(others.map(() => ofOne))
})

test('requests for ever more regions use a limited number of formats', () => {
  const policy = { perPeriod: { unit: 'day', count: 1, timezone: 'Europe/Berlin' } } as const
  const regions = Array.from({ length: 26 }, (_, n) => `X${String.fromCharCode(65 + n)}`)
  const said = ['de', 'en'].map((tag) => reversalMessage(at, policy, doorLanguage(tag as 'de' | 'en')))
  const languages = regions.flatMap((region) => [
    doorLanguage('de', `de-${region}`),
    doorLanguage('en', `en-${region}`),
  ])
  let heard: string[] = []
  expect(
    formatsMadeBy(() => {
      heard = languages.map((language) => reversalMessage(at, policy, language))
    }),
  ).toBe(0)
  expect([...new Set(heard)].toSorted()).toEqual(said.toSorted())
  expect(said).toEqual([
    expect.stringContaining('26.11.2026, 23:30:00 Europe/Berlin'),
    expect.stringContaining('26 Nov 2026 at 23:30:00 Europe/Berlin'),
  ])
})
