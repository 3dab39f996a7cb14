import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'
import { newId } from '../../../../src/core/ids.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { eventually } from '../../../support/eventually.ts'
import { times } from '../../../support/long.ts'
import { definition, makePass, makeProject, publishedTemplate } from '../../fixtures.ts'

const { replay, create } = contract.scans

const day = (n: number, hour: string) => `2026-03-0${n}T${hour}:00Z`

const policies: RedemptionPolicy[] = [
  {},
  { maxUses: 2 },
  { maxUses: 2, autoVoidOnExhaustion: true },
  { minIntervalMinutes: 45 },
  { perPeriod: { unit: 'day', count: 2, timezone: 'Europe/Berlin' }, minIntervalMinutes: 10 },
  { activation: { basis: 'firstScan', validForHours: 3 } },
  { activation: { basis: 'firstScan', validForHours: 30 }, maxUses: 3 },
  {
    windows: [
      { start: day(1, '00:00'), end: day(1, '23:00') },
      { start: day(2, '00:00'), end: day(2, '20:00') },
    ],
  },
  {
    windows: [
      { start: day(1, '10:00'), end: day(1, '20:00'), maxUses: 1 },
      { start: day(1, '11:00'), end: day(2, '20:00'), maxUses: 2 },
    ],
    autoVoidOnExhaustion: true,
  },
  {
    windows: [
      { start: day(1, '00:00'), end: day(2, '20:00'), maxUses: 2 },
      { start: day(2, '08:00'), maxUses: 1 },
    ],
  },
]

interface Step {
  what: 'scan' | 'scan' | 'dated' | 'earlier' | 'reverse' | 'report' | 'unknown' | 'void' | 'expire' | 'wait'
  n: number
  context: string | undefined
}

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom(
      'scan',
      'scan',
      'scan',
      'dated',
      'earlier',
      'reverse',
      'report',
      'unknown',
      'void',
      'expire',
      'wait',
      'wait',
    ),
    n: fc.nat(200),
    context: fc.constantFrom(undefined, undefined, 'day-1', 'day-2'),
  }),
  { minLength: 5, maxLength: 30 },
)

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  async function makeLedger(policy: RedemptionPolicy, more: Partial<DefinitionInput> = {}) {
    const workspace = await api.workspace()
    const projectId = (await makeProject(workspace)).id
    const until = { name: 'until', label: 'Until', default: '2099-01-01T00:00:00Z' }
    const parts = { variables: [until], design: { ...definition().design, fields: {} }, expiresAt: '{{until}}' }
    const template = await publishedTemplate(workspace, {
      definition: definition({ ...parts, ...more, redemption: policy }),
      projectId,
    })
    const passes = [await makePass(workspace, template.id), await makePass(workspace, template.id)]
    await api.runJobs()
    return { workspace, projectId, templateId: template.id, passes: passes.map(({ id }) => id) }
  }

  type Ledger = Awaited<ReturnType<typeof makeLedger>>

  const judge = ({ workspace, projectId }: Ledger, policy: RedemptionPolicy, window: object = {}) =>
    workspace.ok(replay, { body: { projectId, policy, from: '2020-01-01T00:00Z', to: '2030-01-01T00:00Z', ...window } })

  test('replaying the policy that was in force changes nothing', async () => {
    const start = api.now
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...policies), steps, async (policy, given) => {
        api.now = start
        const ledger = await makeLedger(policy)
        for (const step of given) await run(step, ledger)
        const { total } = await ledger.workspace.ok(contract.scans.list, { query: { projectId: [ledger.projectId] } })
        const reversals = await ledger.workspace.ok(contract.scans.list, { query: { result: ['reversal'] } })
        expect(await judge(ledger, policy)).toEqual({
          scans: total - reversals.total,
          changed: 0,
          byReason: [],
          byGate: [],
        })
        const from = new Date(start.getTime() + 5 * 3_600_000).toISOString()
        expect(await judge(ledger, policy, { from })).toMatchObject({ changed: 0 })
      }),
      { numRuns: times(6, 500) },
    )
  })

  async function run({ what, n, context }: Step, { workspace, passes }: Ledger): Promise<unknown> {
    const passId = passes[n % 2]!
    const scan = (body: object) => workspace.ok(create, { body: { passId, scanContextKey: context, ...body } })
    const earlier = new Date(api.now.getTime() - (n % 90) * 60_000).toISOString()
    switch (what) {
      case 'scan':
        return scan({})
      case 'dated':
        return scan({ validityDate: `2026-03-0${1 + (n % 3)}` })
      case 'earlier':
        return scan({ scannedAt: earlier })
      case 'unknown':
        return workspace.ok(create, { body: { qrPayload: 'nobody' } })
      case 'void':
        return n % 5 === 0 && workspace.call(contract.passes.void, { params: { id: passId }, body: {} })
      case 'expire': {
        const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
        const body = { variables: { until: expiresAt } }
        // The update does not change a void pass.
        return n % 5 === 0 && workspace.call(contract.passes.update, { params: { id: passId }, body })
      }
      case 'reverse': {
        const { items } = await workspace.ok(contract.scans.list, { query: { result: ['accepted'] } })
        const chosen = items[n % Math.max(1, items.length)]
        return chosen && workspace.call(contract.scans.reverse, { params: { id: chosen.id }, body: {} })
      }
      case 'report': {
        const isAccepted = n % 3 !== 0
        const decision = isAccepted
          ? { result: 'accepted' as const, reason: 'valid' as const }
          : { result: 'denied' as const, reason: 'already_used' as const }
        const report = { externalRef: newId(api.now), passId, scannedAt: earlier, scanContextKey: context, ...decision }
        return workspace.ok(contract.scanner.report, { body: { scans: [report] } })
      }
      default:
        return api.advance(60 * (n % 100))
    }
  }

  test('replaying another policy reports what changes, by reason and gate, and records nothing', async () => {
    const ledger = await makeLedger({ maxUses: 1 })
    const { workspace, projectId, passes, templateId } = ledger
    const [first, second] = passes as [string, string]
    const scan = (passId: string, gate: string) => workspace.ok(create, { body: { passId, context: { gate } } })
    const from = api.now.toISOString()
    await scan(first, 'North')
    await scan(first, 'North')
    await scan(first, 'South')
    await scan(second, 'South')
    await workspace.ok(contract.passes.void, { params: { id: second }, body: {} })
    await scan(second, 'South')
    await workspace.ok(create, { body: { qrPayload: 'nobody' } })
    const before = await workspace.ok(contract.scans.list, {})
    expect(await judge(ledger, { maxUses: 2 })).toEqual({
      scans: 5,
      changed: 1,
      byReason: [{ from: 'quota_exhausted', to: 'valid', count: 1 }],
      byGate: [{ gate: 'North', changed: 1, byReason: [{ from: 'quota_exhausted', to: 'valid', count: 1 }] }],
    })
    const windows = [{ end: '2020-01-01T00:00Z' }]
    expect(await judge(ledger, { windows })).toMatchObject({
      changed: 4,
      byReason: [
        { from: 'quota_exhausted', to: 'out_of_window', count: 2 },
        { from: 'valid', to: 'out_of_window', count: 2 },
      ],
    })
    api.advance(60)
    // Admissions before the window count in it, but are not evaluated again.
    await scan(first, 'North')
    const window = { from: api.now.toISOString() }
    expect(await judge(ledger, { maxUses: 2 }, window)).toMatchObject({ scans: 1, changed: 1 })
    expect(await judge(ledger, { maxUses: 1 }, window)).toMatchObject({ scans: 1, changed: 0 })
    const query = { body: { projectId, policy: { maxUses: 2 }, from, to: from, templateId } }
    expect(await workspace.ok(replay, query)).toMatchObject({ scans: 5, changed: 1 })
    const other = await publishedTemplate(workspace, { projectId })
    const none = { ...query.body, templateId: other.id }
    expect(await workspace.ok(replay, { body: none })).toMatchObject({ scans: 0, changed: 0 })
    expect((await workspace.ok(contract.scans.list, {})).total).toBe(before.total + 1)
  })

  test('evaluates passes again that the policy voided, not those that were voided or expired otherwise', async () => {
    const used = await makeLedger({ maxUses: 1, autoVoidOnExhaustion: true })
    const ended = await makeLedger({ activation: { basis: 'firstScan', validForHours: 1 } })
    for (const ledger of [used, ended]) {
      for (const passId of ledger.passes) await ledger.workspace.ok(create, { body: { passId } })
      api.advance(7_200)
      for (const passId of ledger.passes) await ledger.workspace.ok(create, { body: { passId } })
    }
    expect(await judge(used, { maxUses: 2 })).toMatchObject({
      byReason: [{ from: 'revoked', to: 'valid', count: 2 }],
    })
    expect(await judge(ended, { maxUses: 5 })).toMatchObject({
      byReason: [{ from: 'expired', to: 'valid', count: 2 }],
    })
    const voided = await makeLedger({})
    const [passId] = voided.passes
    await voided.workspace.ok(contract.passes.void, { params: { id: passId! }, body: {} })
    await voided.workspace.ok(create, { body: { passId: passId! } })
    expect(await judge(voided, { maxUses: 9 })).toMatchObject({ scans: 1, changed: 0 })
  })

  test('a device decision stays, and its conflict is compared', async () => {
    const ledger = await makeLedger({ maxUses: 1 })
    const { workspace, passes } = ledger
    const report = (minute: number) => ({
      externalRef: newId(api.now),
      passId: passes[0]!,
      scannedAt: new Date(api.now.getTime() + minute * 60_000).toISOString(),
      result: 'accepted' as const,
      reason: 'valid' as const,
    })
    await workspace.ok(contract.scanner.report, { body: { scans: [report(0), report(1), report(2)] } })
    expect(await judge(ledger, { maxUses: 1 })).toMatchObject({ scans: 3, changed: 0 })
    expect(await judge(ledger, { maxUses: 2 })).toMatchObject({
      byReason: [{ from: 'quota_exhausted', to: 'valid', count: 1 }],
    })
  })

  test('a scan that a balance denied keeps its result', async () => {
    const ledger = await makeLedger(
      { maxUses: 5 },
      {
        balances: { points: { label: 'Points', kind: 'integer', start: 1 } },
        balanceRules: [{ balance: 'points', delta: -1 }],
      },
    )
    const [passId] = ledger.passes
    const scan = async () => (await ledger.workspace.ok(create, { body: { passId: passId! } })).reasonCode
    expect([await scan(), await scan()]).toEqual(['valid', 'quota_exhausted'])
    expect(await judge(ledger, { maxUses: 5 })).toMatchObject({ scans: 2, changed: 0 })
    expect(await judge(ledger, { maxUses: 9 })).toMatchObject({ scans: 2, changed: 0 })
  })

  test('rejects foreign projects and templates, and invalid windows and policies', async () => {
    const [ledger, other] = [await makeLedger({ maxUses: 1 }), await makeLedger({})]
    const { projectId } = ledger
    const body = { projectId, policy: {}, from: '2026-01-01T00:00Z', to: '2026-12-01T00:00Z' }
    const refused = (who: TestWorkspace, given: object) => who.refused(replay, { body: { ...body, ...given } })
    expect(await refused(other.workspace, {})).toMatchObject({ status: 404 })
    expect(await refused(ledger.workspace, { templateId: other.templateId })).toMatchObject({ status: 404 })
    expect(await refused(ledger.workspace, { to: '2025-01-01T00:00Z' })).toMatchObject({ status: 400 })
    expect(await refused(ledger.workspace, { policy: { maxUses: 0 } })).toMatchObject({
      status: 400,
      details: { issues: [{ path: ['policy', 'maxUses'] }] },
    })
    const elsewhere = (await makeProject(ledger.workspace, 'Other')).id
    const token = await api.token(ledger.workspace.id, { scopes: ['scans:read'], projectIds: [elsewhere] })
    const headers = { authorization: `Bearer ${token}` }
    expect(await ledger.workspace.call(replay, { body }, headers)).toMatchObject({ status: 404 })
  })

  test('a workspace has one replay at a time', async () => {
    const ledger = await makeLedger({ maxUses: 1 })
    const { workspace, projectId } = ledger
    const body = { projectId, policy: {}, from: '2026-01-01T00:00Z', to: '2026-12-01T00:00Z' }
    const answers = await Promise.all([1, 2, 3].map(() => workspace.call(replay, { body })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429])
    expect(answers.find(({ status }) => status === 429)!.body).toMatchObject({
      details: { limit: 'replays', allowed: 1 },
    })
    await judge(ledger, {})
  })

  test('each page of a replay waits for a turn of its workspace at the event loop', async () => {
    const { workspace, projectId } = await makeLedger({ maxUses: 1 })
    const { eventLoop } = api.services
    const waiting: (() => void)[] = []
    const enterJobs: typeof eventLoop.enterJobs = async (workspaceId, count) => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return eventLoop.enterJobs(workspaceId, count)
    }
    const app = api.createApp({ ...api.services, eventLoop: { ...eventLoop, enterJobs } })
    const body = { projectId, policy: {}, from: '2026-01-01T00:00Z', to: '2026-12-01T00:00Z' }
    const headers = { authorization: `Bearer ${workspace.token}`, 'content-type': 'application/json' }
    let status: number | undefined
    const replayed = Promise.resolve(
      app.request('/v1/scans/replay', { method: 'POST', headers, body: JSON.stringify(body) }),
    ).then((response) => (status = response.status))
    await eventually(() => expect(waiting).toHaveLength(1))
    expect(status).toBeUndefined()
    waiting[0]!()
    expect(await replayed).toBe(200)
  })
})
