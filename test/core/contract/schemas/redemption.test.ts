import { describe, expect, test } from 'vitest'
import { RedemptionPolicy, RedemptionTemplate } from '../../../../src/core/contract/schemas/redemption.ts'

const isPolicy = (value: unknown) => RedemptionPolicy.safeParse(value).success
const isTemplate = (value: unknown) => RedemptionTemplate.safeParse(value).success

const perPeriod = (parts: object) => ({ perPeriod: { unit: 'day', count: 1, timezone: 'UTC', ...parts } })
const activation = (parts: object) => ({ activation: { basis: 'firstScan', validForHours: 1, ...parts } })
const windows = (count: number) => ({ windows: Array.from({ length: count }, () => ({})) })

describe('each bound of a policy holds exactly', () => {
  test.each<[string, (value: number) => object, number]>([
    ['maxUses', (maxUses) => ({ maxUses }), 100_000],
    ['windows[].maxUses', (maxUses) => ({ windows: [{ maxUses }] }), 100_000],
    ['perPeriod.count', (count) => perPeriod({ count }), 100_000],
    ['minIntervalMinutes', (minIntervalMinutes) => ({ minIntervalMinutes }), 527_040],
    ['activation.validForHours', (validForHours) => activation({ validForHours }), 87_840],
    ['windows', windows, 366],
  ])('%s', (name, make, max) => {
    for (const check of [isPolicy, isTemplate]) {
      expect([0, 1, max, max + 1].map((value) => check(make(value)))).toEqual([false, true, true, false])
      if (name !== 'windows') expect(check(make(1.5))).toBe(false)
    }
  })
})

test.each([
  [{}],
  [{ autoVoidOnExhaustion: true }],
  [perPeriod({ unit: 'week', timezone: 'Europe/Lisbon' })],
  [perPeriod({ unit: 'month', timezone: 'GMT' })],
  [perPeriod({ timezone: 'America/Argentina/Buenos_Aires' })],
  [{ windows: [{ start: '2027-01-01T10:00Z', end: '2027-01-01T12:00:00+01:00' }] }],
])('accepts %j', (policy) => {
  expect(isPolicy(policy)).toBe(true)
})

test.each([
  [{ limit: 1 }],
  [{ windows: [{ from: '2027-01-01T10:00Z' }] }],
  [{ windows: [{ start: '2027-01-01' }] }],
  [{ windows: {} }],
  [{ maxUses: '5' }],
  [{ maxUses: null }],
  [{ autoVoidOnExhaustion: 'yes' }],
  [{ perPeriod: { unit: 'day', count: 1 } }],
  [{ perPeriod: { unit: 'day', timezone: 'UTC' } }],
  [perPeriod({ unit: 'year' })],
  [perPeriod({ timezone: '+01:00' })],
  [perPeriod({ timezone: 'Mars/Base' })],
  [perPeriod({ timezone: '' })],
  [perPeriod({ weekStart: 'monday' })],
  [{ activation: { basis: 'firstScan' } }],
  [activation({ basis: 'issue' })],
  [[]],
  ['maxUses'],
])('rejects %j', (policy) => {
  expect(isPolicy(policy)).toBe(false)
})

test('a policy template accepts a single placeholder for a number, and placeholders within text', () => {
  expect(
    isTemplate({ maxUses: '{{uses}}', ...perPeriod({ timezone: '{{zone}}' }), windows: [{ start: '{{day}}T10:00Z' }] }),
  ).toBe(true)
  for (const maxUses of ['5', 'about {{uses}}', '{{uses}} ', '{{}}'])
    expect(isTemplate({ maxUses }), maxUses).toBe(false)
  expect(isTemplate(perPeriod({ unit: '{{unit}}' }))).toBe(false)
})
