import { expect, test } from 'vitest'
import { periodOf } from '../../../../src/core/rules/redemption/redemption-windows.ts'
import { localDate } from '../../../server/api/scans/scan-reference.ts'

const HOUR = 3_600_000

/** Clock changes over midnight, at midnight, by half an hour, and at the usual time. */
test.each([
  ['Europe/Berlin', '2027-03-28T01:00Z', 23],
  ['Europe/Berlin', '2026-10-25T01:00Z', 25],
  ['America/New_York', '2027-03-14T07:00Z', 23],
  ['America/New_York', '2026-11-01T06:00Z', 25],
  ['America/Havana', '2027-03-14T05:00Z', 23],
  ['America/Havana', '2026-11-01T05:00Z', 25],
  ['Asia/Beirut', '2027-03-27T22:00Z', 23],
  ['America/Santiago', '2026-09-06T04:00Z', 23],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z', 23.5],
  ['Australia/Lord_Howe', '2027-04-03T15:00Z', 24.5],
])('a day in %s around %s has no gap, no overlap, and %d hours where clocks change', (timezone, change, hours) => {
  const around = Date.parse(change)
  const lengths = new Set<number>()
  for (let at = around - 40 * HOUR; at <= around + 40 * HOUR; at += HOUR / 2) {
    const { from, to } = periodOf({ unit: 'day', count: 1, timezone }, new Date(at))
    const date = localDate(at, timezone)
    expect([localDate(from, timezone), localDate(to - 1, timezone)]).toEqual([date, date])
    expect(localDate(from - 1, timezone) < date && localDate(to, timezone) > date, date).toBe(true)
    expect(from <= at && at < to).toBe(true)
    lengths.add((to - from) / HOUR)
  }
  expect([...lengths].sort()).toEqual([24, hours].sort())
})

test.each([
  ['week', '2026-10-21T12:00Z', '2026-10-18T22:00Z', '2026-10-25T23:00Z'],
  ['month', '2026-10-21T12:00Z', '2026-09-30T22:00Z', '2026-10-31T23:00Z'],
] as const)('a %s of Berlin in which clocks change is an hour longer', (unit, at, from, to) => {
  expect(periodOf({ unit, count: 1, timezone: 'Europe/Berlin' }, new Date(at))).toEqual({
    from: Date.parse(from),
    to: Date.parse(to),
  })
})
