import fc from 'fast-check'
import { DateTime } from 'luxon'
import { expect, test } from 'vitest'
import { type BucketUnit, MAX_BUCKETS } from '../../../../src/core/contract/schemas/common.ts'
import { bucketStarts, commonStep, isFarTooLong } from '../../../../src/core/rules/lists/buckets.ts'

const starts = (unit: BucketUnit, from: string, to: string, zone = 'UTC') =>
  bucketStarts({ from: new Date(from), to: new Date(to) }, unit, zone).map((at) =>
    new Date(at).toISOString().slice(0, 16),
  )

test('the first bucket contains the start, and no bucket contains the end', () => {
  expect(starts('hour', '2026-03-01T20:15Z', '2026-03-01T22:00Z')).toEqual(['2026-03-01T20:00', '2026-03-01T21:00'])
  expect(starts('week', '2026-03-01T20:15Z', '2026-03-02T00:00:00.001Z')).toEqual([
    '2026-02-23T00:00',
    '2026-03-02T00:00',
  ])
  expect(starts('month', '2026-01-31T12:00Z', '2026-03-31T00:00Z')).toEqual([
    '2026-01-01T00:00',
    '2026-02-01T00:00',
    '2026-03-01T00:00',
  ])
})

test('days follow the clock changes of the zone', () => {
  expect(starts('day', '2026-03-28T12:00Z', '2026-03-31T00:00Z', 'Europe/Berlin')).toEqual([
    '2026-03-27T23:00',
    '2026-03-28T23:00',
    '2026-03-29T22:00',
    '2026-03-30T22:00',
  ])
  // In Beirut, this day has no midnight and begins at one. The next day begins at midnight again.
  expect(starts('day', '2026-03-28T12:00Z', '2026-03-30T12:00Z', 'Asia/Beirut')).toEqual([
    '2026-03-27T22:00',
    '2026-03-28T22:00',
    '2026-03-29T21:00',
  ])
})

test('a repeated hour is two buckets, and on Lord Howe the extra half hour extends the previous one', () => {
  expect(starts('hour', '2026-10-24T23:30Z', '2026-10-25T03:00Z', 'Europe/Berlin')).toEqual([
    '2026-10-24T23:00',
    '2026-10-25T00:00',
    '2026-10-25T01:00',
    '2026-10-25T02:00',
  ])
  expect(starts('hour', '2026-04-04T13:30Z', '2026-04-04T17:00Z', 'Australia/Lord_Howe')).toEqual([
    '2026-04-04T13:00',
    '2026-04-04T14:00',
    '2026-04-04T15:30',
    '2026-04-04T16:30',
  ])
})

test('buckets equal those of a calendar computed one by one', () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'Australia/Lord_Howe',
    'Asia/Beirut',
    'America/Havana',
    'Africa/Casablanca',
    'Pacific/Apia',
    'Asia/Kathmandu',
  ]
  const from = fc.integer({ min: Date.UTC(1890, 0), max: Date.UTC(2027, 0) })
  const unit = fc.constantFrom<BucketUnit>('hour', 'day', 'week', 'month')
  fc.assert(
    fc.property(unit, fc.constantFrom(...zones), from, fc.integer({ min: 1, max: 60 }), (unit, zone, from, length) => {
      const to = DateTime.fromMillis(from)
        .plus({ [unit]: length })
        .toMillis()
      const byCalendar: number[] = []
      for (let at = from; at < to; ) {
        const start: DateTime = DateTime.fromMillis(at, { zone }).startOf(unit)
        byCalendar.push(start.toMillis())
        let steps = 1
        while (start.plus({ [unit]: steps }).startOf(unit) <= start) steps++
        at = start
          .plus({ [unit]: steps })
          .startOf(unit)
          .toMillis()
      }
      expect(bucketStarts({ from: new Date(from), to: new Date(to) }, unit, zone)).toEqual(byCalendar)
    }),
    { numRuns: 100 },
  )
})

test('creates only enough buckets to show that a range is too long', () => {
  expect(starts('hour', '0001-01-01T00:00Z', '9999-01-01T00:00Z')).toHaveLength(MAX_BUCKETS + 1)
})

test('accepts a range with the maximum number of buckets, and rejects one with many more', () => {
  for (const unit of ['hour', 'day', 'week', 'month'] as const) {
    const from = DateTime.fromISO('1927-01-01T00:00Z')
    const after = (n: number) => ({ from: from.toJSDate(), to: from.plus({ [unit]: n }).toJSDate() })
    expect(isFarTooLong(after(MAX_BUCKETS), unit)).toBe(false)
    expect(isFarTooLong(after(3 * MAX_BUCKETS), unit)).toBe(true)
  }
})

test('common steps reach each bucket', () => {
  const hour = 3_600_000
  const days = bucketStarts(
    { from: new Date('2026-03-28T12:00Z'), to: new Date('2026-03-31T00:00Z') },
    'day',
    'Europe/Berlin',
  )
  expect(commonStep(days)).toBe(hour)
  expect(commonStep([0, 4 * hour, 10 * hour])).toBe(2 * hour)
  expect(commonStep([7])).toBe(0)
})
