import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_LOCKED_REPORTS } from '../../../../src/core/bounds.ts'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { OfflineScan } from '../../../../src/core/contract/scans/scanner.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'
import { LedgerReason, type ScanItem } from '../../../../src/core/contract/schemas/scan-shapes.ts'
import { newId } from '../../../../src/core/ids.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import { definition, issuedPass } from '../../fixtures.ts'

const { report, snapshot } = contract.scanner

function withPolicy(redemption: RedemptionPolicy, parts: Partial<DefinitionInput> = {}): DefinitionInput {
  return definition({ redemption, ...parts } as Partial<DefinitionInput>)
}

interface Item {
  pass: number
  minute: number
  decision: [OfflineScan['result'], OfflineScan['reason']]
}

let refs = 0

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  /** Returns a scan that a device decided just now. */
  function decided(parts: Partial<OfflineScan>): OfflineScan {
    refs += 1
    const reason = parts.result === 'denied' ? 'already_used' : 'valid'
    return { externalRef: `ref-${refs}`, scannedAt: api.now.toISOString(), result: 'accepted', reason, ...parts }
  }

  const send = async (workspace: TestWorkspace, ...scans: OfflineScan[]) =>
    (await workspace.ok(report, { body: { scans } })).results

  const ledger = async (workspace: TestWorkspace) => {
    const { items, total } = await workspace.ok(contract.scans.list, { query: { limit: 100 } })
    expect(total).toBe(items.length)
    return items
  }

  const accepted = async (workspace: TestWorkspace, passId: string) =>
    (await workspace.ok(contract.scans.explain, { params: { id: passId } })).acceptedScanCount

  test('stores a report that the server agrees with unchanged, and counts it', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { definition: withPolicy({ maxUses: 2 }) })
    const scannedAt = api.now.toISOString()
    api.advance(3600)
    const scan = decided({ passId: pass.id, scannedAt, deviceId: 'gate-1', context: { gate: 'A', note: 'late' } })
    const [result] = await send(workspace, scan)
    expect(result).toEqual({
      externalRef: scan.externalRef,
      conflict: null,
      idempotentReplay: false,
      scan: {
        id: expect.any(String),
        result: 'accepted',
        reason: 'valid',
        verified: 'offline',
        passId: pass.id,
        projectId: null,
        externalPassId: pass.externalPassId,
        scannedAt,
        recordedAt: api.now.toISOString(),
        deviceId: 'gate-1',
        metadata: { gate: 'A', note: 'late' },
      },
    })
    const read = await workspace.call(contract.scans.get, { params: { id: result!.scan.id } })
    expect(read.body).toEqual(result!.scan)
    const events = await workspace.events(result!.scan.id)
    expect(events).toMatchObject([{ type: 'pass.scanned' }])
    expect(JSON.stringify(events[0]!.data)).toBe(read.text)
    expect(await accepted(workspace, pass.id)).toBe(1)
  })

  // On SQLite, the short report is always read first.
  test.runIf(dialect === 'postgres')('records a short report before the rest of a long one', async () => {
    const workspace = await api.workspace()
    const reportOf = (count: number) => Array.from({ length: count }, () => decided({ qrPayload: `code ${refs}` }))
    // The long reports arrive first.
    const [one, other, few] = await Promise.all([
      send(workspace, ...reportOf(100)),
      send(workspace, ...reportOf(100)),
      send(workspace, ...reportOf(MAX_LOCKED_REPORTS)),
    ])
    // IDs are in the order in which the scans are recorded.
    const lastOf = (results: typeof few) =>
      results
        .map(({ scan }) => scan.id)
        .toSorted()
        .at(-1)!
    expect(lastOf(few) < lastOf([...one, ...other])).toBe(true)
  })

  test('a device decision never changes; if the server disagrees, its reason is the conflict', async () => {
    const workspace = await api.workspace()
    const single = await issuedPass(workspace, { definition: withPolicy({ maxUses: 1 }) })
    const voided = await issuedPass(workspace)
    const fresh = await issuedPass(workspace)
    await workspace.ok(contract.scans.create, { body: { passId: single.id } })
    await workspace.ok(contract.passes.void, { params: { id: voided.id }, body: {} })
    const unknownId = newId(api.now)
    const results = await send(
      workspace,
      decided({ passId: single.id }),
      decided({ passId: voided.id }),
      decided({ qrPayload: 'nobody has this' }),
      decided({ passId: unknownId }),
      decided({ passId: fresh.id, result: 'denied', reason: 'no_match' }),
      decided({ passId: voided.id, result: 'denied', reason: 'expired' }),
      decided({ passId: voided.id, result: 'denied', reason: 'revoked' }),
    )
    expect(results.map(({ scan, conflict }) => [scan.result, scan.reason, conflict])).toEqual([
      ['accepted', 'valid', 'quota_exhausted'],
      ['accepted', 'valid', 'revoked'],
      ['accepted', 'valid', 'no_match'],
      ['accepted', 'valid', 'no_match'],
      ['denied', 'no_match', 'valid'],
      ['denied', 'expired', 'revoked'],
      ['denied', 'revoked', null],
    ])
    for (const { scan, conflict } of results) {
      expect(scan.metadata).toEqual(conflict === null ? {} : { conflict })
      expect(await workspace.events(scan.id)).toHaveLength(scan.passId === null ? 0 : 1)
    }
    expect(results.map(({ scan }) => scan.passId)).toEqual([
      single.id,
      voided.id,
      null,
      null,
      fresh.id,
      voided.id,
      voided.id,
    ])
    // Only admitted scans count.
    expect(await Promise.all([single, voided, fresh].map(({ id }) => accepted(workspace, id)))).toEqual([2, 1, 0])
  })

  test('evaluates a scan at its time, even if the pass expired since', async () => {
    const workspace = await api.workspace()
    const expiresAt = new Date(api.now.getTime() + 60_000).toISOString()
    const pass = await issuedPass(workspace, { definition: definition({ expiresAt }) })
    const before = api.now.toISOString()
    api.advance(120)
    await api.services.store.transaction((tx) => tx.passes.expire(api.now, 100))
    const results = await send(
      workspace,
      decided({ passId: pass.id, scannedAt: expiresAt }),
      decided({ passId: pass.id, scannedAt: before, result: 'denied', reason: 'expired' }),
    )
    expect(results.map(({ conflict }) => conflict)).toEqual(['expired', 'valid'])
  })

  test('a stale identifier that a device accepted is a conflict, and the use counts', async () => {
    const workspace = await api.workspace()
    const design = { ...definition().design, fields: {}, barcode: { format: 'qr' as const, message: '{{code}}' } }
    const variables = [{ name: 'code', label: 'Code' }]
    const options = { definition: definition({ variables, design }), variables: { code: 'OLD' } }
    const pass = await issuedPass(workspace, options)
    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { variables: { code: 'NEW' } } })
    await api.runJobs()
    const [result] = await send(workspace, decided({ qrPayload: 'OLD' }))
    expect(result).toMatchObject({ conflict: 'unverifiable', scan: { passId: pass.id, result: 'accepted' } })
    expect(await accepted(workspace, pass.id)).toBe(1)
    const [agreed] = await send(workspace, decided({ qrPayload: 'OLD', result: 'denied', reason: 'unverifiable' }))
    expect(agreed).toMatchObject({ conflict: null, scan: { reason: 'unverifiable' } })
  })

  test('the last use voids the pass once, even if the server would have denied it', async () => {
    const workspace = await api.workspace()
    const policy = { maxUses: 2, minIntervalMinutes: 60, autoVoidOnExhaustion: true }
    const pass = await issuedPass(workspace, { definition: withPolicy(policy) })
    const results = await send(workspace, decided({ passId: pass.id }), decided({ passId: pass.id }))
    expect(results.map(({ conflict }) => conflict)).toEqual([null, 'cooldown'])
    expect((await workspace.ok(contract.passes.get, { params: { id: pass.id } })).status).toBe('VOID')
    await send(workspace, decided({ passId: pass.id }))
    const events = (await workspace.events(pass.id)).filter(({ type }) => type === 'pass.voided')
    expect(events).toMatchObject([{ data: { reason: 'exhausted' } }])
  })

  test('items are evaluated in the order of their times, with responses in the order of the request', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { definition: withPolicy({ maxUses: 1 }) })
    const early = decided({ passId: pass.id })
    const late = decided({ passId: pass.id, scannedAt: new Date(api.now.getTime() + 1000).toISOString() })
    const results = await send(workspace, late, early)
    expect(results.map(({ externalRef, conflict }) => [externalRef, conflict])).toEqual([
      [late.externalRef, 'quota_exhausted'],
      [early.externalRef, null],
    ])
  })

  const HOUR = 3_600_000
  const at = (hours: number) => new Date(api.now.getTime() + hours * HOUR).toISOString()

  test('a clock out of range counts as the nearer bound, is stored, and is a conflict', async () => {
    const workspace = await api.workspace()
    const madeAt = api.now.toISOString()
    const make = () => issuedPass(workspace, { definition: withPolicy({ maxUses: 1 }) })
    const [early, late, near] = [await make(), await make(), await make()]
    api.advance(3600)
    const reached = at(24)
    const [first, second, last] = await send(
      workspace,
      decided({ passId: early.id, scannedAt: '1999-12-31T23:00:00-01:00' }),
      decided({ passId: late.id, scannedAt: at(24.001) }),
      decided({ passId: near.id, scannedAt: reached }),
    )
    const conflict = 'valid'
    expect(first).toMatchObject({ conflict, scan: { scannedAt: madeAt, result: 'accepted', reason: 'valid' } })
    expect(first!.scan.metadata).toEqual({ conflict, deviceTime: '2000-01-01T00:00:00.000Z' })
    expect(second).toMatchObject({ conflict, scan: { scannedAt: reached } })
    expect(second!.scan.metadata).toEqual({ conflict, deviceTime: at(24.001) })
    expect(last).toMatchObject({ conflict: null, scan: { scannedAt: reached, metadata: {} } })
    // Check the scan in a read and in an event, and that it counts.
    const read = await workspace.call(contract.scans.get, { params: { id: first!.scan.id } })
    expect([read.body, (await workspace.events(first!.scan.id))[0]!.data]).toEqual([first!.scan, first!.scan])
    expect(await accepted(workspace, early.id)).toBe(1)
  })

  test('scans of clocks out of range are evaluated at the bound, in the order of their device', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { definition: withPolicy({ maxUses: 1 }) })
    const unknown = decided({ qrPayload: 'nobody', scannedAt: '1999-01-01T00:00:00Z' })
    const far = decided({ passId: pass.id, scannedAt: '1999-01-02T00:00:00Z' })
    const farther = decided({ passId: pass.id, scannedAt: '1999-01-01T00:00:00Z' })
    const results = await send(workspace, far, unknown, farther)
    expect(results.map(({ conflict }) => conflict)).toEqual(['quota_exhausted', 'no_match', 'valid'])
    // Without a pass, its creation time is unknown.
    expect(results[1]!.scan).toMatchObject({
      scannedAt: '1999-01-01T00:00:00.000Z',
      metadata: { conflict: 'no_match' },
    })
    expect(results[1]!.scan.metadata.deviceTime).toBeUndefined()
  })

  test('evaluates a scan as of its date, regardless of its time and of other scans', async () => {
    const workspace = await api.workspace()
    const windows = [{ start: '2030-07-01T18:00Z', end: '2030-07-01T20:00Z' }]
    const pass = await issuedPass(workspace, { definition: withPolicy({ windows, minIntervalMinutes: 30 }) })
    const results = await send(
      workspace,
      decided({ passId: pass.id, validityDate: '2030-07-01' }),
      decided({ passId: pass.id, validityDate: '2030-07-01', scannedAt: at(0.1) }),
      decided({ passId: pass.id, validityDate: '2030-07-02', scannedAt: at(0.2) }),
    )
    expect(results.map(({ conflict }) => conflict)).toEqual([null, null, 'out_of_window'])
    expect(results[0]!.scan).toMatchObject({
      scannedAt: '2030-07-01T18:00:00.000Z',
      metadata: { validateAsOf: '2030-07-01' },
    })
    const { items } = await workspace.ok(snapshot, {})
    expect(items[0]!.acceptedScans.map((scan) => scan.validityDate)).toEqual(['2030-07-01', '2030-07-01', '2030-07-02'])
  })

  test('an item repeated in a request, or scanned online before, is one scan', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const twice = decided({ passId: pass.id })
    const results = await send(workspace, twice, { ...twice, deviceId: 'other' })
    expect(results[1]).toEqual({ ...results[0], idempotentReplay: true })

    const online = { passId: pass.id, externalRef: 'lost-answer', scanContextKey: 'day 2' }
    const { scan } = await workspace.ok(contract.scans.create, { body: online })
    const [replay] = await send(workspace, decided({ ...online, result: 'denied', reason: 'already_used' }))
    expect(replay).toMatchObject({ idempotentReplay: true, conflict: null, scan: { id: scan.id, verified: 'online' } })
    expect(
      await workspace.ok(contract.scans.create, { body: { passId: pass.id, externalRef: twice.externalRef } }),
    ).toMatchObject({
      result: 'accepted',
      reasonCode: 'valid',
      idempotentReplay: true,
      scan: { id: results[0]!.scan.id },
    })
    expect(await ledger(workspace)).toHaveLength(2)
  })

  test('a denial that the server would not have made is replayed with the reason of the device', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const reasons = LedgerReason.options.filter((reason) => reason !== 'valid')
    const reports = reasons.map((reason) => decided({ passId: pass.id, result: 'denied', reason }))
    const results = await send(workspace, ...reports)
    expect(results.map(({ conflict }) => conflict)).toEqual(reasons.map(() => 'valid'))
    const codes = new Map<string, string | null>()
    for (const { externalRef, reason } of reports) {
      const replay = await workspace.ok(contract.scans.create, { body: { passId: pass.id, externalRef } })
      expect(replay.idempotentReplay).toBe(true)
      codes.set(reason, replay.reasonCode)
    }
    const renamed = { already_used: 'already_scanned', wrong_project: 'wrong_scope', unverifiable: 'stale_identifier' }
    const same = Object.fromEntries(reasons.map((reason) => [reason, reason]))
    expect(Object.fromEntries(codes)).toEqual({ ...same, ...renamed })
  })

  test('a batch uploaded five times, in any order or concurrently, is recorded once', async () => {
    const policies: RedemptionPolicy[] = [
      { maxUses: 2 },
      { minIntervalMinutes: 5 },
      { maxUses: 1, autoVoidOnExhaustion: true },
      {},
    ]
    const start = api.now.getTime()
    const decision = fc.constantFrom<['accepted' | 'denied', OfflineScan['reason']]>(
      ['accepted', 'valid'],
      ['denied', 'quota_exhausted'],
      ['denied', 'already_used'],
    )
    const item = fc.record({ pass: fc.nat({ max: policies.length }), minute: fc.nat({ max: 12 }), decision })
    const batches = fc
      .array(item, { minLength: 1, maxLength: 12 })
      .chain((items) =>
        fc.tuple(
          fc.constant(items),
          fc.tuple(
            ...Array.from({ length: 5 }, () => fc.shuffledSubarray([...items.keys()], { minLength: items.length })),
          ),
          fc.nat({ max: 5 }),
        ),
      )

    async function upload(items: Item[], orders: number[][], together: number) {
      const workspace = await api.workspace()
      const passIds: string[] = []
      for (const policy of policies) {
        passIds.push((await issuedPass(workspace, { definition: withPolicy(policy) })).id)
      }
      passIds.push('00000000-0000-4000-8000-000000000000')
      const scans = items.map(({ pass, minute, decision: [result, reason] }, index): OfflineScan => {
        const scannedAt = new Date(start + minute * 60_000).toISOString()
        return { externalRef: `item-${index}`, passId: passIds[pass]!, scannedAt, result, reason }
      })
      const reports = orders.map((order) => order.map((index) => scans[index]!))
      await Promise.all(reports.slice(0, together).map((some) => send(workspace, ...some)))
      for (const some of reports.slice(together)) await send(workspace, ...some)
      const uses = await Promise.all(passIds.slice(0, -1).map((id) => accepted(workspace, id)))
      const nameOf = ({ passId }: ScanItem) => passIds.indexOf(passId ?? passIds.at(-1)!)
      const shown = (await ledger(workspace)).map((scan) =>
        JSON.stringify([scan.scannedAt, nameOf(scan), scan.result, scan.reason, scan.verified, scan.metadata]),
      )
      return { uses, shown: shown.sort() }
    }

    await fc.assert(
      fc.asyncProperty(batches, async ([items, orders, together]) => {
        const once = await upload(items, [[...items.keys()]], 0)
        expect(once.shown).toHaveLength(items.length)
        expect(await upload(items, orders, together)).toEqual(once)
      }),
      { numRuns: times(2, 10) },
    )
  })

  test('stores a report of any age', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const { id } = await workspace.ok(snapshot, {})
    const scan = decided({ passId: pass.id })
    api.advance(400 * 24 * 3600)
    const { results } = await workspace.ok(report, { body: { snapshotId: id, scans: [scan] } })
    expect(results).toMatchObject([{ conflict: null, scan: { result: 'accepted', scannedAt: scan.scannedAt } }])
  })

  test('a workspace without offline scanning returns no snapshot and accepts no report', async () => {
    const workspace = await api.workspace()
    const scan = decided({ qrPayload: 'x' })
    await api.services.store.transaction((tx) => tx.workspaces.update(workspace.id, { offlineScanning: false }))
    api.advance(2)
    for (const refused of [
      await workspace.refused(snapshot, {}),
      await workspace.refused(report, { body: { scans: [scan] } }),
    ]) {
      expect(refused).toMatchObject({ status: 403, errorCode: 'SCANNER_OFFLINE_DISABLED' })
    }
    await api.services.store.transaction((tx) => tx.workspaces.update(workspace.id, { offlineScanning: true }))
    api.advance(2)
    expect(await send(workspace, scan)).toHaveLength(1)
  })

  test.each([
    ['neither payload nor pass', { qrPayload: undefined }, 'qrPayload'],
    ['a result that does not match its reason', { result: 'denied', reason: 'valid' }, 'reason'],
    ['a reason that does not match its result', { result: 'accepted', reason: 'expired' }, 'reason'],
    ['a conflict of its own', { context: { conflict: 'valid' } }, 'conflict'],
    ['a device time of its own', { context: { deviceTime: '2026-01-01T00:00:00Z' } }, 'deviceTime'],
  ])('rejects %s', async (_, parts, path) => {
    const workspace = await api.workspace()
    const scans = [{ ...decided({ qrPayload: 'x' }), ...parts }] as OfflineScan[]
    const { status, details } = await workspace.refused(report, { body: { scans } })
    expect([status, (details.issues as { path: string[] }[])[0]!.path.at(-1)]).toEqual([400, path])
  })
})
