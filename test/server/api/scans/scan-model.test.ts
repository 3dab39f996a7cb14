import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'
import { insertTemplate, newPass } from '../../../storage/fixtures.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import { localDate, localTime, ReferencePass } from './scan-reference.ts'
import { scan } from './scan-support.ts'

/** The number of histories on each database. Set PASSES_SCAN_MODEL_RUNS for more. */
const runs = Number(process.env.PASSES_SCAN_MODEL_RUNS ?? times(15, 200))

/** In some of these zones, midnight occurs twice or never. One of them changes its clocks by half an hour. */
const zones = [
  'Europe/Berlin',
  'America/New_York',
  'America/Havana',
  'Africa/Cairo',
  'Asia/Beirut',
  'America/Santiago',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
]

const NOW = new Date('2026-06-01T12:00:00Z')

const HOUR = 3_600_000
const MINUTE = 60_000

test.each(zones)('%s changes its clocks twice in the year of the test histories', (zone) => {
  expect(clockChanges(zone)).toHaveLength(2)
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace
  let version: Awaited<ReturnType<typeof insertTemplate>>

  beforeAll(async () => {
    workspace = await api.workspace()
    version = await insertTemplate(api.services.store, workspace.id)
    api.now = NOW
  })

  const title = 'every scan of any history is judged as by reading the whole of it, whatever the policy'
  test(title, { timeout: 300_000 + 2_000 * runs }, async () => {
    await fc.assert(fc.asyncProperty(histories, replay), { numRuns: runs })
  })

  async function replay({ policy, expiresAt, steps }: History): Promise<void> {
    const pass = newPass(version, { redemption: policy, expiresAt })
    await api.services.store.transaction(async (tx) => {
      await tx.passes.insert(workspace.id, [pass], api.now)
      await tx.passes.setIssued(workspace.id, [pass.id], api.now)
    })
    const reference = new ReferencePass(policy, expiresAt)
    for (const step of steps) {
      if ('reverse' in step) await reverse(reference, step.reverse)
      else await compare(pass.id, policy, reference, step)
    }
  }

  async function reverse(reference: ReferencePass, choice: number): Promise<void> {
    const chosen = reference.accepted[choice % Math.max(1, reference.accepted.length)]
    if (!chosen) return
    await workspace.ok(scans.reverse, { params: { id: chosen.id } })
    reference.reverse(chosen.id)
  }

  async function compare(
    passId: string,
    policy: RedemptionPolicy | null,
    reference: ReferencePass,
    { at: realTime, context, date }: Attempt,
  ): Promise<void> {
    const prior = reference.accepted.length
    const answer = await scan(workspace, {
      passId,
      scannedAt: new Date(realTime).toISOString(),
      ...(context !== undefined && { scanContextKey: context }),
      ...(date !== undefined && { validityDate: date }),
    })
    const at = Date.parse(answer.scan.scannedAt)
    const expectedTime = date === undefined ? realTime : reference.operationalTime(realTime, date, context)
    if (expectedTime !== undefined) expect(at).toBe(expectedTime)
    else expectDate(at, realTime, date!, policy?.perPeriod?.timezone ?? 'UTC')

    const code = reference.evaluate(at, context, date, api.now.getTime())
    const result = code === 'valid' ? 'accepted' : code === 'already_scanned' ? 'duplicate' : 'denied'
    if (code === 'valid') reference.accept(answer.scan.id, at, context, date, realTime)
    const inContext = reference.accepted.filter((scan) => scan.context === context)
    expect(answer).toMatchObject({
      reasonCode: code,
      result,
      priorScanCount: prior,
      isFirstScan: code === 'valid' && prior === 0,
      pass: {
        acceptedScanCount: reference.accepted.length,
        lastAcceptedScanAt: latest(reference.accepted),
        contextAcceptedScanCount: inContext.length,
        contextLastAcceptedScanAt: latest(inContext),
      },
    })
  }
})

test('the test histories produce every reason', () => {
  const seen = new Set<string>()
  for (const { policy, expiresAt, steps } of fc.sample(histories, { seed: 1, numRuns: 1_000 })) {
    const reference = new ReferencePass(policy, expiresAt)
    for (const step of steps) {
      if ('reverse' in step) continue
      const { at: realTime, context, date } = step
      const at = (date === undefined ? undefined : reference.operationalTime(realTime, date, context)) ?? realTime
      const code = reference.evaluate(at, context, date, NOW.getTime())
      if (code === 'valid') reference.accept(`scan ${seen.size}`, at, context, date, realTime)
      seen.add(code)
    }
  }
  const reasons = ['valid', 'expired', 'quota_exhausted', 'cooldown', 'out_of_window']
  expect([...seen].sort()).toEqual([...reasons, 'already_scanned', 'revoked', 'not_valid_context'].sort())
})

/** Expects the time of day on that date. If the clocks skip that time, expects one that is up to an hour later. */
function expectDate(at: number, realTime: number, date: string, zone: string): void {
  expect(localDate(at, zone)).toBe(date)
  const wanted = localTime(realTime, zone).slice(11)
  const moved =
    (Date.parse(`2026-01-01T${localTime(at, zone).slice(11)}Z`) - Date.parse(`2026-01-01T${wanted}Z`)) / HOUR
  expect([0, 0.5, 1]).toContain(moved)
}

function latest(scans: { at: number }[]): string | null {
  return scans.length === 0 ? null : new Date(Math.max(...scans.map(({ at }) => at))).toISOString()
}

interface Attempt {
  at: number
  context: string | undefined
  date: string | undefined
}

interface History {
  policy: RedemptionPolicy | null
  expiresAt: Date | null
  steps: (Attempt | { reverse: number })[]
}

/** Generates times around changes of clocks, so that most days have 23 or 25 hours. */
const histories: fc.Arbitrary<History> = fc
  .constantFrom(...zones)
  .chain((zone) => fc.constantFrom(...clockChanges(zone)).map((change) => ({ zone, change })))
  .chain(({ zone, change }) => {
    const moment = fc
      .oneof(
        { weight: 4, arbitrary: fc.integer({ min: -30 * 60, max: 30 * 60 }) },
        { weight: 2, arbitrary: fc.integer({ min: -60 * 24 * 40, max: 60 * 24 * 40 }) },
        // Minutes in which days begin and end.
        { weight: 3, arbitrary: fc.integer({ min: -50, max: 50 }).map((quarters) => quarters * 30) },
      )
      .chain((minutes) => fc.constantFrom(0, 0, -1, 1).map((jitter) => change + minutes * MINUTE + jitter))
    const date = moment.map((at) => localDate(at, zone))
    const attempt = fc.record({
      at: moment,
      context: fc.constantFrom(undefined, undefined, 'one', 'two'),
      date: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: date }),
    })
    const step = fc.oneof(
      { weight: 6, arbitrary: attempt },
      { weight: 1, arbitrary: fc.nat(5).map((reverse) => ({ reverse })) },
    )
    return fc.record({
      policy: fc.option(policies(zone, moment), { freq: 8 }),
      expiresAt: fc
        .option(
          moment.map((at) => new Date(at)),
          { freq: 2 },
        )
        .map(farEnough),
      steps: fc.array(step, { minLength: 1, maxLength: 14 }),
    })
  })

/** Keeps only a few of the early expiries. Otherwise every scan of the histories would find an expired pass. */
function farEnough(expiresAt: Date | null): Date | null {
  return expiresAt && expiresAt < new Date('2026-06-01T12:00:00Z') && expiresAt.getTime() % 5 !== 0 ? null : expiresAt
}

function policies(zone: string, moment: fc.Arbitrary<number>): fc.Arbitrary<RedemptionPolicy> {
  const window = fc
    .record({
      from: fc.option(moment, { nil: undefined, freq: 10 }),
      length: fc.option(fc.integer({ min: 1, max: 60 * 72 }), { nil: undefined, freq: 10 }),
      offset: fc.constantFrom(0, 60, 120, -300, 345),
      maxUses: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    })
    .chain(({ from, length, offset, maxUses }) =>
      moment.map((other) => ({
        ...(from !== undefined && { start: withOffset(from, offset) }),
        ...(length !== undefined && { end: withOffset((from ?? other) + length * MINUTE, offset) }),
        ...(maxUses !== undefined && { maxUses }),
      })),
    )
  const perPeriod = fc.record({
    unit: fc.constantFrom('day' as const, 'day' as const, 'week' as const, 'month' as const),
    count: fc.integer({ min: 1, max: 3 }),
    timezone: fc.oneof({ weight: 4, arbitrary: fc.constant(zone) }, fc.constantFrom('UTC', 'GMT', ...zones)),
  })
  return fc.record(
    {
      windows: fc.array(window, { minLength: 1, maxLength: 4 }),
      maxUses: fc.integer({ min: 1, max: 4 }),
      autoVoidOnExhaustion: fc.boolean(),
      perPeriod,
      minIntervalMinutes: fc.constantFrom(1, 30, 60, 24 * 60),
      activation: fc.record({
        basis: fc.constant('firstScan' as const),
        validForHours: fc.constantFrom(1, 24, 25, 1000),
      }),
    },
    { requiredKeys: [] },
  )
}

function withOffset(at: number, minutes: number): string {
  const local = new Date(at + minutes * MINUTE).toISOString().slice(0, -1)
  if (minutes === 0) return `${local}Z`
  const pad = (number: number) => String(Math.floor(Math.abs(number))).padStart(2, '0')
  return `${local}${minutes < 0 ? '-' : '+'}${pad(minutes / 60)}:${pad(Math.abs(minutes) % 60)}`
}

const changesByZone = new Map<string, number[]>()

/** The moments of a year at which the clocks of a zone jump, to the minute. */
function clockChanges(zone: string): number[] {
  const changes = changesByZone.get(zone) ?? findClockChanges(zone)
  changesByZone.set(zone, changes)
  return changes
}

function findClockChanges(zone: string): number[] {
  const offset = (at: number) => Date.parse(`${localTime(at, zone)}Z`) - at
  const start = Date.UTC(2026, 6, 15)
  const changes: number[] = []
  for (let at = start; at < start + 365 * 24 * HOUR; at += HOUR) {
    if (offset(at) === offset(at + HOUR)) continue
    let minute = at
    while (offset(minute) === offset(minute + MINUTE)) minute += MINUTE
    changes.push(minute + MINUTE)
  }
  return changes
}
