import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePointLength } from '../../../../src/core/bounds.ts'
import { CalendarDate, Timestamp, text, UtcTimestamp } from '../../../../src/core/contract/schemas/common.ts'

describe('a timestamp', () => {
  test.each([
    '2027-05-31T19:30:00Z',
    '2027-05-31T19:30Z',
    '2027-05-31T19:30:00.123456789Z',
    '2027-05-31T19:30+02:00',
    '2027-05-31T00:00:00-23:59',
    '2028-02-29T23:59:59Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
  ])('accepts %s', (value) => {
    expect(Timestamp.safeParse(value).success).toBe(true)
  })

  test.each([
    '2027-05-31',
    '2027-05-31T19:30:00',
    '2027-05-31 19:30:00Z',
    '2027-05-31t19:30:00z',
    '2027-05-31T24:00:00Z',
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-05-31T19:60Z',
    '2027-05-31T19:30:60Z',
    '2027-05-31T19Z',
    '2027-05-31T19:30:00+0200',
    '2027-05-31T19:30:00+24:00',
    '2027-05-31T19:30:00.Z',
    '+012027-05-31T19:30:00Z',
    '2027-05-31T19:30:00Z\n',
    ' 2027-05-31T19:30:00Z',
    '',
    'now',
    '1780000000',
    // In UTC, these times are outside the years that ISO 8601 writes with four digits.
    '9999-12-31T23:59:59-01:00',
    '0000-01-01T00:00:00+01:00',
  ])('rejects %j', (value) => {
    expect(Timestamp.safeParse(value).success).toBe(false)
  })

  test('accepted timestamps can always be formatted', () => {
    const pad = (value: number, length = 2) => String(value).padStart(length, '0')
    const parts = fc.tuple(
      fc.nat(9999),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 31 }),
      fc.nat(23),
      fc.nat(59),
    )
    const offsets = fc.oneof(
      fc.constant('Z'),
      fc
        .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
        .map(([sign, hours, minutes]) => `${sign}${pad(hours)}:${pad(minutes)}`),
    )
    const seconds = fc.constantFrom('', ':00', ':59.9999999999', ':07.1')
    fc.assert(
      fc.property(parts, seconds, offsets, ([year, month, day, hour, minute], second, offset) => {
        const value = `${pad(year, 4)}-${pad(month)}-${pad(day)}T${pad(hour)}:${pad(minute)}${second}${offset}`
        fc.pre(Timestamp.safeParse(value).success)
        expect(UtcTimestamp.safeParse(new Date(value).toISOString()).success, value).toBe(true)
      }),
      {
        numRuns: 500,
        examples: [
          [[0, 1, 1, 0, 0], '', '+00:01'],
          [[9999, 12, 31, 23, 59], ':59.9999999999', 'Z'],
        ],
      },
    )
  })
})

describe('bounded text', () => {
  test('is counted in code points', () => {
    expect(text(1, 3).safeParse('😀😀😀').success).toBe(true)
    expect(text(1, 3).safeParse('😀😀😀😀').success).toBe(false)
    expect(text(2, 3).safeParse('😀').success).toBe(false)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        expect(codePointLength(value)).toBe([...value].length)
      }),
    )
  })

  test.each(['\0', 'a\0b', '\ud800', 'a\udc00', '\udc00\ud800'])('rejects %j, which no database can store', (value) => {
    expect(text(0, 10).safeParse(value).success).toBe(false)
  })
})

test('a calendar date exists in the calendar', () => {
  expect(CalendarDate.safeParse('2028-02-29').success).toBe(true)
  for (const value of ['2027-02-29', '2027-5-1', '2027-05-31T00:00Z', '']) {
    expect(CalendarDate.safeParse(value).success, value).toBe(false)
  }
})
