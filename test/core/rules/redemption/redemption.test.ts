import { expect, test } from 'vitest'
import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'
import {
  choosePlace,
  evaluateRedemption,
  explainRedemption,
  redemptionChecks,
} from '../../../../src/core/rules/redemption/redemption.ts'
import { planRedemption, type RedemptionFacts } from '../../../../src/core/rules/redemption/redemption-plan.ts'
import { historyOf } from '../../../../src/core/rules/redemption/use-record.ts'

const at = (text: string) => new Date(text)
const noon = at('2026-03-01T12:00:00Z')

interface Before {
  at: string
  context?: string
  date?: string
}

interface Case extends Partial<RedemptionFacts> {
  /** The times of earlier accepted scans, each optionally with a scan context or a validity date. */
  scans?: (string | Before)[]
}

function evaluate({ scans = [], ...facts }: Case) {
  const pass = { status: 'ISSUED', expiresAt: null, policy: null } as const
  const plan = planRedemption({ ...pass, realTime: noon, scanContextKey: null, ...facts })
  const before = scans.map((scan): Before => (typeof scan === 'string' ? { at: scan } : scan))
  const history = historyOf(
    plan,
    before.map((scan) => ({
      scannedAt: at(scan.at),
      scanContextKey: scan.context ?? null,
      validityDate: scan.date ?? null,
    })),
  )
  const attempt = choosePlace(plan, history)
  const decision = evaluateRedemption(attempt, history)
  return { attempt, history, decision, checks: explainRedemption(attempt, history) }
}

const over: RedemptionPolicy = { windows: [{ start: '2026-02-01T00:00Z', end: '2026-02-02T00:00Z', maxUses: 1 }] }

/** Each case fails its own check and every later check that can fail at the same time. */
const cases: Record<(typeof redemptionChecks)[number], Case> = {
  revoked: {
    status: 'VOID',
    expiresAt: noon,
    policy: { ...over, maxUses: 1, minIntervalMinutes: 5 },
    validityDate: '2026-03-01',
    scans: ['2026-03-01T11:59:00Z'],
  },
  expired: {
    status: 'QUEUED',
    expiresAt: at('2026-02-28T23:59:59Z'),
    policy: { ...over, maxUses: 1, minIntervalMinutes: 5 },
    validityDate: '2026-03-01',
    scans: ['2026-03-01T11:59:00Z'],
  },
  not_active: {
    status: 'QUEUED',
    policy: { ...over, maxUses: 1, minIntervalMinutes: 5 },
    validityDate: '2026-03-01',
    scans: ['2026-03-01T11:59:00Z'],
  },
  not_valid_context: {
    policy: { ...over, maxUses: 1, minIntervalMinutes: 5 },
    validityDate: '2026-03-01',
    scans: ['2026-03-01T11:59:00Z'],
  },
  out_of_window: { policy: { ...over, maxUses: 1, minIntervalMinutes: 5 }, scans: ['2026-03-01T11:59:00Z'] },
  quota_exhausted: { policy: { maxUses: 1, minIntervalMinutes: 5 }, scans: ['2026-03-01T11:59:00Z'] },
  cooldown: { policy: { maxUses: 2, minIntervalMinutes: 5 }, scans: ['2026-03-01T11:59:00Z'] },
  already_scanned: { scans: ['2026-03-01T11:59:00Z'] },
}

test.each(redemptionChecks)('%s takes precedence over every later check', (name) => {
  const { decision, checks } = evaluate(cases[name])
  expect(decision.reasonCode).toBe(name)
  expect(decision.result).toBe(name === 'already_scanned' ? 'duplicate' : 'denied')
  const outcomes = checks.map(({ outcome }) => outcome)
  expect(checks.map(({ check }) => check)).toEqual(redemptionChecks)
  const index = redemptionChecks.indexOf(name)
  expect(outcomes.slice(0, index)).not.toContain('failed')
  expect(outcomes[index]).toBe('failed')
  // The case must fail several checks, or the order of the checks would not be tested.
  if (!['cooldown', 'already_scanned'].includes(name)) expect(outcomes.slice(index + 1)).toContain('failed')
})

interface Row {
  title: string
  given: Case
  decision: string
}

const window = { start: '2026-03-01T11:00Z', end: '2026-03-01T13:00Z' }
const overlapping: RedemptionPolicy = {
  windows: [
    { start: '2026-03-01T11:00Z', end: '2026-03-01T14:00Z', maxUses: 1 },
    { start: '2026-03-01T10:00Z', end: '2026-03-01T13:00Z', maxUses: 1 },
  ],
}

test.each<Row>([
  { title: 'a pass is expired from expiresAt on', given: { expiresAt: noon }, decision: 'expired' },
  {
    title: 'a pass is valid a millisecond before expiresAt',
    given: { expiresAt: at('2026-03-01T12:00:00.001Z') },
    decision: 'valid',
  },
  { title: 'EXPIRED is expired at any time', given: { status: 'EXPIRED' }, decision: 'expired' },
  { title: 'FAILED is not active', given: { status: 'FAILED' }, decision: 'not_active' },
  {
    title: 'a window includes its start',
    given: { policy: { windows: [{ ...window, start: '2026-03-01T13:00+01:00' }] } },
    decision: 'valid',
  },
  {
    title: 'a window excludes its end',
    given: { policy: { windows: [{ ...window, end: '2026-03-01T12:00Z' }] } },
    decision: 'out_of_window',
  },
  {
    title: 'a window without a start admits any earlier time',
    given: { policy: { windows: [{ end: window.end }] } },
    decision: 'valid',
  },
  {
    title: 'a window without an end admits any later time',
    given: { policy: { windows: [{ start: window.start }] } },
    decision: 'valid',
  },
  {
    title: 'windows without a limit are contexts: a use outside does not count',
    given: { policy: { windows: [window] }, scans: ['2026-01-01T00:00Z', '2026-03-01T10:59:59Z'] },
    decision: 'valid',
  },
  {
    title: 'windows without a limit are contexts: one use within admits no other',
    given: { policy: { windows: [window] }, scans: ['2026-03-01T11:30Z'] },
    decision: 'already_scanned',
  },
  {
    title: 'a use with a scan context does not count in the window',
    given: { policy: { windows: [window] }, scans: [{ at: '2026-03-01T11:30Z', context: 'vip' }] },
    decision: 'valid',
  },
  {
    title: 'with a scan context, only the key counts, over all windows',
    given: {
      policy: { windows: [window] },
      scanContextKey: 'vip',
      scans: [{ at: '2026-01-01T00:00Z', context: 'vip' }],
    },
    decision: 'already_scanned',
  },
  {
    title: 'with a scan context, uses without one do not count',
    given: { policy: { windows: [window] }, scanContextKey: 'vip', scans: ['2026-03-01T11:30Z'] },
    decision: 'valid',
  },
  {
    title: 'two overlapping windows without a limit admit once each',
    given: { policy: { windows: [window, { start: '2026-03-01T11:30Z' }] }, scans: ['2026-03-01T11:15Z'] },
    decision: 'valid',
  },
  {
    title: 'with one limited window, no window is a context',
    given: {
      policy: { windows: [window, { start: '2026-04-01T00:00Z', maxUses: 1 }] },
      scans: ['2026-03-01T11:30Z'],
    },
    decision: 'valid',
  },
  {
    title: 'an activation admits any number of uses within its hours',
    given: {
      policy: { activation: { basis: 'firstScan', validForHours: 24 } },
      scans: ['2026-03-01T10:00Z', '2026-03-01T11:00Z'],
    },
    decision: 'valid',
  },
  {
    title: 'an activation admits no use after its hours',
    given: { policy: { activation: { basis: 'firstScan', validForHours: 24 } }, scans: ['2026-02-28T12:00Z'] },
    decision: 'expired',
  },
  {
    title: 'with an activation, windows are not contexts',
    given: {
      policy: { windows: [window], activation: { basis: 'firstScan', validForHours: 24 } },
      scans: ['2026-03-01T11:30Z'],
    },
    decision: 'valid',
  },
  {
    title: 'a scan as of a date does not count for the interval',
    given: {
      policy: { minIntervalMinutes: 10 },
      scans: [{ at: '2026-03-01T11:59Z', date: '2026-03-01' }],
    },
    decision: 'valid',
  },
  {
    title: 'a scan as of a date does not hide an earlier scan from the interval',
    given: {
      policy: { minIntervalMinutes: 10 },
      scans: ['2026-03-01T11:55Z', { at: '2026-03-01T11:59Z', date: '2026-03-01' }],
    },
    decision: 'cooldown',
  },
  {
    title: 'a scan as of a date is never too soon',
    given: { policy: { minIntervalMinutes: 10 }, validityDate: '2026-03-01', scans: ['2026-03-01T11:59Z'] },
    decision: 'valid',
  },
  {
    title: 'a full window',
    given: { policy: { windows: [{ ...window, maxUses: 1 }] }, scans: ['2026-03-01T11:00Z'] },
    decision: 'quota_exhausted',
  },
  {
    title: 'uses of other days do not count in a window',
    given: { policy: { windows: [{ ...window, maxUses: 1 }] }, scans: ['2026-03-01T10:59:59Z', '2026-03-01T13:00Z'] },
    decision: 'valid',
  },
  {
    title: 'one of two overlapping windows has uses left',
    given: {
      policy: { windows: [{ ...window, maxUses: 1 }, { start: '2026-03-01T12:00Z' }] },
      scans: ['2026-03-01T11:00Z'],
    },
    decision: 'valid',
  },
  {
    title: 'both overlapping windows are full',
    given: { policy: overlapping, scans: ['2026-03-01T11:30Z', '2026-03-01T11:31Z'] },
    decision: 'quota_exhausted',
  },
  {
    title: 'maxUses over all windows',
    given: { policy: { windows: [window], maxUses: 1 }, scans: ['2026-01-01T00:00Z'] },
    decision: 'quota_exhausted',
  },
  {
    title: 'activation ends with its last hour',
    given: {
      policy: { maxUses: 9, activation: { basis: 'firstScan', validForHours: 2 } },
      scans: ['2026-03-01T10:00Z'],
    },
    decision: 'expired',
  },
  {
    title: 'activation lasts until then',
    given: {
      policy: { maxUses: 9, activation: { basis: 'firstScan', validForHours: 2 } },
      scans: ['2026-03-01T10:00:00.001Z'],
    },
    decision: 'valid',
  },
  {
    title: 'activation does not begin before the first scan',
    given: { policy: { maxUses: 9, activation: { basis: 'firstScan', validForHours: 1 } } },
    decision: 'valid',
  },
  {
    title: 'within the interval after a scan',
    given: { policy: { minIntervalMinutes: 10 }, scans: ['2026-03-01T11:50:00.001Z'] },
    decision: 'cooldown',
  },
  {
    title: 'exactly the interval after a scan',
    given: { policy: { minIntervalMinutes: 10 }, scans: ['2026-03-01T11:50Z'] },
    decision: 'valid',
  },
  {
    title: 'within the interval before a scan',
    given: { policy: { minIntervalMinutes: 10 }, scans: ['2026-03-01T12:09:59.999Z'] },
    decision: 'cooldown',
  },
  {
    title: 'exactly the interval before a scan',
    given: { policy: { minIntervalMinutes: 10 }, scans: ['2026-03-01T12:10Z'] },
    decision: 'valid',
  },
  {
    title: 'a day at its limit',
    given: { policy: { perPeriod: { unit: 'day', count: 1, timezone: 'UTC' } }, scans: ['2026-03-01T00:00Z'] },
    decision: 'quota_exhausted',
  },
  {
    title: 'another day of the time zone',
    given: {
      policy: { perPeriod: { unit: 'day', count: 1, timezone: 'Asia/Tokyo' } },
      scans: ['2026-03-01T15:00Z', '2026-02-28T14:59:59Z'],
    },
    decision: 'valid',
  },
  {
    title: 'a week begins on Monday',
    given: { policy: { perPeriod: { unit: 'week', count: 1, timezone: 'UTC' } }, scans: ['2026-02-23T00:00Z'] },
    decision: 'quota_exhausted',
  },
  {
    title: 'the Sunday before is in another week',
    given: {
      policy: { perPeriod: { unit: 'week', count: 1, timezone: 'UTC' } },
      scans: ['2026-02-22T23:59:59Z', '2026-03-02T00:00Z'],
    },
    decision: 'valid',
  },
  {
    title: 'a month',
    given: {
      policy: { perPeriod: { unit: 'month', count: 1, timezone: 'UTC' } },
      scans: ['2026-02-28T23:59:59Z', '2026-04-01T00:00Z'],
    },
    decision: 'valid',
  },
  {
    title: 'a policy that limits nothing',
    given: { policy: { autoVoidOnExhaustion: true }, scans: ['2026-01-01T00:00Z'] },
    decision: 'already_scanned',
  },
])('$title: $decision', ({ given, decision }) => {
  expect(evaluate(given).decision.reasonCode).toBe(decision)
})

test('debits the earliest overlapping window with remaining uses', () => {
  const debitedAt = (scans: string[]) => {
    const { decision } = evaluate({ policy: overlapping, scans })
    return decision.result === 'accepted' && decision.window?.start
  }
  expect(debitedAt([])).toBe('2026-03-01T10:00Z')
  expect(debitedAt(['2026-03-01T10:30Z'])).toBe('2026-03-01T11:00Z')
})

test.each([
  ['the last use of all', { maxUses: 2 }, ['2026-01-01T00:00Z'], true],
  ['one use left', { maxUses: 3 }, ['2026-01-01T00:00Z'], false],
  ['every window full that is not over', { windows: [...over.windows!, { ...window, maxUses: 1 }] }, [], true],
  [
    'a window to come',
    {
      windows: [
        { ...window, maxUses: 1 },
        { start: '2026-04-01T00:00Z', maxUses: 1 },
      ],
    },
    [],
    false,
  ],
  ['a window without a limit', { windows: [{ ...window, maxUses: 1 }, { end: window.end }] }, [], false],
  ['a period, which comes again', { perPeriod: { unit: 'day', count: 1, timezone: 'UTC' } }, [], false],
] as [string, RedemptionPolicy, string[], boolean][])(
  'with %s, autoVoidOnExhaustion: %j',
  (_, policy, scans, exhausts) => {
    expect(evaluate({ policy: { ...policy, autoVoidOnExhaustion: true }, scans }).decision).toMatchObject({ exhausts })
    expect(evaluate({ policy, scans }).decision).toMatchObject({ exhausts: false })
  },
)

const dated: RedemptionPolicy = {
  windows: [
    { start: '2026-05-01T20:00-05:00', end: '2026-05-01T23:00-05:00', maxUses: 1 },
    { start: '2026-05-03T10:00+02:00', end: '2026-05-05T10:00+02:00', maxUses: 1 },
  ],
}

test.each([
  ['a date is that of the offset of the window', '2026-05-01', '2026-05-02T01:00:00.000Z', 'valid'],
  ['the day in UTC is none', '2026-05-02', '2026-05-02T12:00:00.000Z', 'not_valid_context'],
  ['the time of day stays where the window holds it', '2026-05-03', '2026-05-03T12:00:00.000Z', 'valid'],
  ['a window of several days is selected by its first', '2026-05-04', '2026-05-04T12:00:00.000Z', 'not_valid_context'],
])('%s', (_, validityDate, operational, decision) => {
  const evaluated = evaluate({ policy: dated, validityDate })
  expect([evaluated.attempt.at.toISOString(), evaluated.decision.reasonCode]).toEqual([operational, decision])
})

test('a validity date without windows is one of the time zone of the period, else of UTC', () => {
  const perPeriod = { unit: 'day', count: 1, timezone: 'Pacific/Auckland' } as const
  expect(evaluate({ policy: { perPeriod }, validityDate: '2026-07-01' }).attempt.at).toEqual(at('2026-06-30T13:00:00Z'))
  expect(evaluate({ validityDate: '2026-07-01' }).attempt.at).toEqual(at('2026-07-01T12:00:00Z'))
})

test.each<[string, Case]>([
  ['expiry during the day', { policy: null, expiresAt: at('2026-07-01T15:00:00Z') }],
  [
    'expiry during the window',
    {
      policy: { windows: [{ start: '2026-07-01T08:00Z', end: '2026-07-01T22:00Z' }] },
      expiresAt: at('2026-07-01T12:00:00Z'),
    },
  ],
  [
    'a window past midnight and uses a day',
    {
      policy: {
        windows: [{ start: '2026-07-01T20:00Z', end: '2026-07-02T04:00Z' }],
        perPeriod: { unit: 'day', count: 1, timezone: 'Europe/Berlin' },
      },
      scans: ['2026-07-01T20:00:00Z'],
    },
  ],
])('the time of day does not affect a decision as of a date: %s', (_, given) => {
  const decisions = Array.from({ length: 24 }, (_, hour) => {
    const realTime = new Date(Date.parse('2026-06-20T00:30:00Z') + hour * 3_600_000)
    return evaluate({ ...given, realTime, validityDate: '2026-07-01' }).decision.reasonCode
  })
  expect(new Set(decisions).size).toBe(1)
})

test('a pass is expired as of a date after its last, in the zone of its periods or windows, else UTC', () => {
  const evaluated = (expiresAt: string, policy: RedemptionPolicy | null = null) =>
    evaluate({ policy, expiresAt: at(expiresAt), validityDate: '2026-07-01' }).decision.reasonCode
  expect([evaluated('2026-06-30T23:59:59.999Z'), evaluated('2026-07-01T00:00:00Z')]).toEqual(['expired', 'valid'])
  const windows = [{ start: '2026-07-01T20:00+02:00', end: '2026-07-01T22:00+02:00', maxUses: 1 }]
  expect([evaluated('2026-06-30T21:59:59Z', { windows }), evaluated('2026-06-30T22:00Z', { windows })]).toEqual([
    'expired',
    'valid',
  ])
  const perPeriod = { unit: 'day', count: 1, timezone: 'America/New_York' } as const
  expect([evaluated('2026-07-01T03:59:59Z', { perPeriod }), evaluated('2026-07-01T04:00:00Z', { perPeriod })]).toEqual([
    'expired',
    'valid',
  ])
})

test('a scan as of a date uses the current status', () => {
  const evaluated = (status: RedemptionFacts['status']) =>
    evaluate({ status, validityDate: '2026-01-01' }).decision.reasonCode
  expect([evaluated('EXPIRED'), evaluated('VOID'), evaluated('QUEUED')]).toEqual(['expired', 'revoked', 'not_active'])
})

const twice: RedemptionPolicy = {
  windows: [
    { start: '2026-07-01T18:00Z', end: '2026-07-01T20:00Z', maxUses: 1 },
    { start: '2026-07-01T08:00Z', end: '2026-07-01T10:00Z', maxUses: 1 },
    { start: '2026-07-02T08:00Z', end: '2026-07-02T10:00Z', maxUses: 1 },
  ],
}
const unlimited: RedemptionPolicy = { windows: twice.windows!.map(({ start, end }) => ({ start: start!, end: end! })) }

test.each<[string, RedemptionPolicy, string[], string, string]>([
  ['the first by start', twice, [], '2026-07-01T09:59:59.999Z', 'valid'],
  ['the next once that is used up', twice, ['2026-07-01T09:00Z'], '2026-07-01T18:00:00.000Z', 'valid'],
  [
    'the last once all are',
    twice,
    ['2026-07-01T09:00Z', '2026-07-01T19:00Z'],
    '2026-07-01T18:00:00.000Z',
    'quota_exhausted',
  ],
  ['the first that is a context', unlimited, ['2026-07-02T09:00Z'], '2026-07-01T09:59:59.999Z', 'valid'],
  ['the next that is a context', unlimited, ['2026-07-01T08:00Z'], '2026-07-01T18:00:00.000Z', 'valid'],
  [
    'the last of the contexts',
    unlimited,
    ['2026-07-01T08:00Z', '2026-07-01T18:00Z'],
    '2026-07-01T18:00:00.000Z',
    'already_scanned',
  ],
])('for several windows of one date, a scan uses %s', (_, policy, scans, operational, decision) => {
  const evaluated = evaluate({ policy, scans, validityDate: '2026-07-01' })
  expect([evaluated.attempt.at.toISOString(), evaluated.decision.reasonCode]).toEqual([operational, decision])
})

test('each window of a date counts in the period of its start', () => {
  const policy: RedemptionPolicy = {
    windows: [
      { start: '2026-07-01T00:30+02:00', end: '2026-07-01T01:00+02:00', maxUses: 1 },
      { start: '2026-07-01T20:00+02:00', end: '2026-07-01T21:00+02:00', maxUses: 1 },
    ],
    perPeriod: { unit: 'day', count: 1, timezone: 'UTC' },
  }
  const evaluated = (scans: string[]) => evaluate({ policy, scans, validityDate: '2026-07-01' }).decision.reasonCode
  // In UTC, the first scan is on 30 June.
  expect([
    evaluated([]),
    evaluated(['2026-06-30T22:45Z']),
    evaluated(['2026-06-30T22:45Z', '2026-07-01T12:00Z']),
  ]).toEqual(['valid', 'valid', 'quota_exhausted'])
})

test('a scan as of a later date does not void a pass with an open window', () => {
  const windows = [
    { start: '2026-03-01T10:00Z', end: '2026-03-01T20:00Z', maxUses: 1 },
    { start: '2026-04-01T10:00Z', end: '2026-04-01T20:00Z', maxUses: 1 },
  ]
  const { decision } = evaluate({ policy: { windows, autoVoidOnExhaustion: true }, validityDate: '2026-04-01' })
  expect(decision).toMatchObject({ result: 'accepted', exhausts: false })
})
