import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { capDelaySeconds, exceedsCap } from '../../../../src/core/rules/sending/notification.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = Date.parse('2026-05-01T12:00:00Z')
const at = (offset: number) => new Date(now + offset)
const hours = (...offsets: number[]) => offsets.map((offset) => at(offset * HOUR))

describe('sends within 24 hours', () => {
  test.each([
    ['none before', hours(), false],
    ['two before', hours(-1, -2), false],
    ['three before', hours(-1, -2, -3), true],
    ['three before, one a day ago to the millisecond', hours(-1, -2, -24), false],
    ['three before, one a millisecond less than a day ago', [...hours(-1, -2), at(-DAY + 1)], true],
    ['three later ones', hours(1, 2, 3), true],
    ['two before and one later', hours(-10, -5, 13.9), true],
    ['two before and one later without a common day', hours(-10, -5, 14), false],
    ['one before and two later', hours(-1, 10, 22), true],
    ['at the same instant', hours(0, 0, 0), true],
    ['many that are more than a day away', hours(-30, -29, -28, 40, 41, 42), false],
  ])('%s: one more is over the cap: %s', (_, others, expected) => {
    expect(exceedsCap(others as Date[], at(0))).toBe(expected)
  })
})

const offsets = fc.array(fc.integer({ min: -40 * 3600, max: 60 * 3600 }), { maxLength: 12 })

test('the delay is the least number of seconds after which the send fits', () => {
  fc.assert(
    fc.property(offsets, (seconds) => {
      const others = seconds.map((second) => at(second * 1000))
      const delay = capDelaySeconds(others, at(0))
      expect(fits(others, delay)).toBe(true)
      if (delay > 0) {
        // The result can change only at the times at which another send enters or leaves the window, so test around these.
        const earlier = [0, ...seconds.flatMap((second) => [second + 86_400, second - 86_400])]
        const candidates = earlier.flatMap((second) => [second - 1, second, second + 1])
        for (const second of candidates) if (second >= 0 && second < delay) expect(fits(others, second)).toBe(false)
      }
    }),
  )
})

test('a delay is whole seconds, rounded up', () => {
  const others = [at(-DAY + 1_001), at(-1000), at(-500)]
  expect(capDelaySeconds(others, at(0))).toBe(2)
})

/** Implements the words of the specification: no 24 hours contain more than 3 sends, including this one. */
function fits(others: Date[], second: number): boolean {
  const own = at(second * 1000).getTime()
  const times = [...others.map((other) => other.getTime()), own]
  return times.every((from) => {
    const inside = times.filter((time) => time >= from && time < from + DAY)
    return !inside.includes(own) || inside.length <= 3
  })
}
