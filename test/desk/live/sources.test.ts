import { expect, test } from 'vitest'
import { beginningOf, reachedBy } from '../../../src/desk/live/sources.ts'

test('the figures of a day are those of the current hour and the 23 before it', () => {
  const from = '2026-03-01T13:00:00.000Z'
  expect(beginningOf(new Date('2026-03-02T12:00:00.000Z'))).toBe(from)
  expect(beginningOf(new Date('2026-03-02T12:59:59.999Z'))).toBe(from)
})

test('a broadcast that reached one of two wallets of a pass counts as sent', () => {
  expect(reachedBy({ sent: 3, partial: 2 })).toBe(5)
})
