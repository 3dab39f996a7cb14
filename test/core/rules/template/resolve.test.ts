import { describe, expect, test } from 'vitest'
import type { RedemptionTemplate } from '../../../../src/core/contract/schemas/redemption.ts'
import {
  type PassFacts,
  resolveExpiry,
  resolvePolicies,
  resolveRedemption,
} from '../../../../src/core/rules/template/resolve.ts'
import { parseDefinition } from '../../../support/definitions.ts'

const scope = new Map([
  ['date', '2027-05-31'],
  ['moment', '2027-05-31T19:30:00+02:00'],
  ['time', '19:30'],
  ['empty', ''],
  ['spaces', '  '],
  ['five', '5'],
  ['zero', '0'],
  ['many', '100001'],
  ['words', 'five'],
  ['fraction', '1.5'],
  ['zone', 'Europe/Lisbon'],
])

describe('an expiry', () => {
  test.each([
    [null, null],
    ['2027-05-31T19:30:00Z', '2027-05-31T19:30:00.000Z'],
    ['2027-05-31T19:30Z', '2027-05-31T19:30:00.000Z'],
    ['2027-05-31T19:30:00.250-03:30', '2027-05-31T23:00:00.250Z'],
    ['2027-05-31', '2027-05-31T23:59:59.999Z'],
    ['{{moment}}', '2027-05-31T17:30:00.000Z'],
    ['{{date}}', '2027-05-31T23:59:59.999Z'],
    ['{{date}}T{{time}}Z', '2027-05-31T19:30:00.000Z'],
    [' {{date}} ', '2027-05-31T23:59:59.999Z'],
    ['{{empty}}', null],
    ['{{unknown}}', null],
    ['{{spaces}}', null],
  ])('given as %j is %j', (template, expected) => {
    expect(resolveExpiry({ expiresAt: template }, scope)).toEqual({ value: expected && new Date(expected) })
  })

  test.each([
    ['Europe/Lisbon', '2031-05-20', '2031-05-20T22:59:59.999Z'],
    ['Europe/Lisbon', '2031-12-20', '2031-12-20T23:59:59.999Z'],
    ['America/New_York', '2031-05-20', '2031-05-21T03:59:59.999Z'],
    ['Asia/Tokyo', '2031-05-20', '2031-05-20T14:59:59.999Z'],
    ['Pacific/Kiritimati', '2031-05-20', '2031-05-20T09:59:59.999Z'],
    ['america/NEW_YORK', '2031-05-20', '2031-05-21T03:59:59.999Z'],
    // Days of 23 and 25 hours, on which the clocks change, and one that begins at 1:00.
    ['Europe/Berlin', '2027-03-28', '2027-03-28T21:59:59.999Z'],
    ['Europe/Berlin', '2027-10-31', '2027-10-31T22:59:59.999Z'],
    ['America/Santiago', '2027-09-04', '2027-09-05T03:59:59.999Z'],
    // The end would be in the year 10000.
    ['America/New_York', '9999-12-31', '9999-12-31T23:59:59.999Z'],
  ])('in %s given as %s ends at %s', (timeZone, date, expected) => {
    const definition = { expiresAt: '{{until}}', timeZone }
    expect(resolveExpiry(definition, new Map([['until', date]]))).toEqual({ value: new Date(expected) })
  })

  test('given with a time keeps its instant in any time zone', () => {
    const definition = { expiresAt: '{{date}}T{{time}}Z', timeZone: 'America/New_York' }
    expect(resolveExpiry(definition, scope)).toEqual({ value: new Date('2027-05-31T19:30:00Z') })
  })

  test.each([
    'tomorrow',
    '{{words}}',
    '2027-02-29',
    '2027-05-31T19:30',
    '{{date}} {{time}}',
    '1780000000',
    'T{{time}}Z',
  ])('rejects the resolved value %j with its path', (template) => {
    expect(resolveExpiry({ expiresAt: template }, scope)).toEqual({
      issues: [{ path: ['expiresAt'], message: expect.stringContaining('Must be a date or a date-time') }],
    })
  })

  test('truncates a long value in the error', () => {
    const result = resolveExpiry({ expiresAt: 'x'.repeat(10_000) }, scope)
    expect('issues' in result && result.issues[0]!.message.length).toBeLessThan(150)
  })
})

describe('a redemption policy', () => {
  const resolve = (redemption: RedemptionTemplate) => resolveRedemption({ redemption }, scope)

  test('is null if the definition has none', () => {
    expect(resolveRedemption({}, scope)).toEqual({ value: null })
  })

  test('takes numbers from lone placeholders, and text from any', () => {
    const resolved = resolve({
      maxUses: '{{five}}',
      autoVoidOnExhaustion: true,
      perPeriod: { unit: 'week', count: '{{ five }}', timezone: '{{zone}}' },
      minIntervalMinutes: 10,
      activation: { basis: 'firstScan', validForHours: '{{five}}' },
      windows: [
        { start: '{{moment}}', end: '{{date}}T{{time}}Z', maxUses: '{{five}}' },
        { start: '2027-01-01T00:00Z' },
      ],
    })
    expect(resolved).toEqual({
      value: {
        maxUses: 5,
        autoVoidOnExhaustion: true,
        perPeriod: { unit: 'week', count: 5, timezone: 'Europe/Lisbon' },
        minIntervalMinutes: 10,
        activation: { basis: 'firstScan', validForHours: 5 },
        windows: [
          { start: '2027-05-31T19:30:00+02:00', end: '2027-05-31T19:30Z', maxUses: 5 },
          { start: '2027-01-01T00:00Z' },
        ],
      },
    })
  })

  test.each<[string, RedemptionTemplate, string]>([
    ['a placeholder without a value', { maxUses: '{{unknown}}' }, 'redemption.maxUses'],
    [
      'an empty value',
      { perPeriod: { unit: 'day', count: 1, timezone: '{{empty}}' } },
      'redemption.perPeriod.timezone',
    ],
    ['a number out of bounds', { maxUses: '{{many}}' }, 'redemption.maxUses'],
    ['zero', { minIntervalMinutes: '{{zero}}' }, 'redemption.minIntervalMinutes'],
    ['words in place of a number', { maxUses: '{{words}}' }, 'redemption.maxUses'],
    ['a fraction', { maxUses: '{{fraction}}' }, 'redemption.maxUses'],
    ['a date in place of a date-time', { windows: [{}, { start: '{{date}}' }] }, 'redemption.windows.1.start'],
    [
      'a window that ends before it starts',
      { windows: [{ start: '{{date}}T{{time}}Z', end: '{{moment}}' }] },
      'redemption.windows.0.end',
    ],
    ['an empty window', { windows: [{ start: '{{moment}}', end: '{{moment}}' }] }, 'redemption.windows.0.end'],
    [
      'an invalid time zone',
      { perPeriod: { unit: 'day', count: 1, timezone: '{{words}}' } },
      'redemption.perPeriod.timezone',
    ],
  ])('rejects a policy with %s and its path, never relaxing it', (_, redemption, path) => {
    const result = resolve(redemption)
    expect('issues' in result && result.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })

  test('lists every problem at once', () => {
    const result = resolve({ maxUses: '{{unknown}}', minIntervalMinutes: '{{empty}}' })
    expect('issues' in result && result.issues).toHaveLength(2)
  })
})

test('an expiry can be in the policy, and conflicts of both are reported together', () => {
  const definition = parseDefinition({
    variables: [{ name: 'until', label: 'Until' }],
    design: { organizationName: 'O', description: 'D' },
    expiresAt: '{{until}}',
    redemption: { windows: [{ end: '{{pass.expiresAt}}' }] },
  })
  const facts: PassFacts = {
    id: 'id',
    externalPassId: 'e',
    label: 'l',
    scanCode: 's',
    templateName: 't',
    projectName: null,
    variables: { until: '2027-05-31' },
  }
  expect(resolvePolicies(definition, facts)).toEqual({
    expiresAt: new Date('2027-05-31T23:59:59.999Z'),
    redemption: { windows: [{ end: '2027-05-31T23:59:59.999Z' }] },
    hasBalances: false,
  })
  expect(resolvePolicies(definition, { ...facts, variables: { until: 'soon' } })).toHaveProperty('issues')
})
