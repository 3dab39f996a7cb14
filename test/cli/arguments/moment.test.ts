import { expect, test } from 'vitest'
import { parseEnd, parseLifetime, parseMoment, parsePast } from '../../../src/cli/arguments/moment.ts'
import { UsageError } from '../../../src/cli/command/cli-error.ts'

const now = new Date('2026-05-01T12:00:00.000Z')

test.each([
  ['2026-05-01T14:00:00Z', '2026-05-01T14:00:00.000Z'],
  ['2026-05-01T19:30+02:00', '2026-05-01T17:30:00.000Z'],
  ['in 90s', '2026-05-01T12:01:30.000Z'],
  ['in 2h', '2026-05-01T14:00:00.000Z'],
  [' IN 1d 12h30m ', '2026-05-03T00:30:00.000Z'],
  ['in 0s', '2026-05-01T12:00:00.000Z'],
])('parses %s as %s', (text, expected) => {
  expect(parseMoment(text, now).toISOString()).toBe(expected)
})

test.each(['', 'soon', 'in', 'in 2', '2h', 'in 2 weeks', '2026-05-01', '2026-05-01T14:00:00', 'in 99999999999d'])(
  'rejects "%s" and shows what to write instead',
  (text) => {
    expect(() => parseMoment(text, now)).toThrow(UsageError)
  },
)

test.each([
  ['2026-05-01T14:00:00Z', '2026-05-01T14:00:00.000Z'],
  ['12h', '2026-05-01T00:00:00.000Z'],
  ['30d ago', '2026-04-01T12:00:00.000Z'],
  ['in 2h', '2026-05-01T14:00:00.000Z'],
])('parses %s as the past time %s', (text, expected) => {
  expect(parsePast(text, now).toISOString()).toBe(expected)
})

test.each(['', 'yesterday', '12', '2026-05-01', '99999999999d'])(
  'rejects "%s" for a past time and shows what to write instead',
  (text) => {
    expect(() => parsePast(text, now)).toThrow(UsageError)
  },
)

test.each([
  ['2027-01-01', '2027-01-01T00:00:00.000Z'],
  ['2027-01-01T00:00:00+01:00', '2026-12-31T23:00:00.000Z'],
  ['in 30d', '2026-05-31T12:00:00.000Z'],
  ['never', undefined],
])('parses the end %s as %s', (text, expected) => {
  expect(parseEnd(text, now)?.toISOString()).toBe(expected)
})

test('the lifetime of a token is a duration, never, or the default', () => {
  expect(parseLifetime('30d', now)).toEqual(new Date('2026-05-31T12:00:00.000Z'))
  expect([parseLifetime('never', now), parseLifetime(undefined, now)]).toEqual([null, undefined])
  for (const text of ['', 'soon', '2027-01-01', 'NEVER']) expect(() => parseLifetime(text, now)).toThrow(UsageError)
})
