import { beforeAll, describe, expect, test } from 'vitest'
import { passes } from '../../../../src/core/contract/passes.ts'
import { type ScanCreate, scans } from '../../../../src/core/contract/scans/scans.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { overOrBlocked } from '../../../support/eventually.ts'
import { makeProject } from '../../fixtures.ts'
import { scan, scannablePass } from './scan-support.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const eventsOf = async (scanId: string) =>
    api.database.writer('events').where({ workspace_id: workspace.id, subject: scanId }).select('type', 'data')

  test('a response has every field of the scan and of the pass', async () => {
    const project = await makeProject(workspace, 'Harbour season')
    const redemption = { maxUses: 3, perPeriod: { unit: 'day', count: 3, timezone: 'Europe/Berlin' } } as const
    const pass = await scannablePass(workspace, {
      projectId: project.id,
      redemption,
      until: '2026-12-31T00:00:00Z',
      parts: { photo: 'https://photos.example/{{code}}.jpg' },
    })
    const body = {
      qrPayload: pass.code,
      scanContextKey: '2026-03-01',
      deviceId: 'gate-7',
      externalRef: 'first',
      context: { gate: 'A', note: 'VIP' },
    }
    const answer = await scan(workspace, body)
    const now = api.now.toISOString()
    expect(answer).toEqual({
      result: 'accepted',
      reasonCode: 'valid',
      scan: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        passId: pass.id,
        projectId: project.id,
        templateVersionId: pass.templateVersionId,
        redemptionSnapshot: redemption,
        scanContextKey: '2026-03-01',
        scannedAt: now,
        recordedAt: now,
        reversesScanId: null,
        deviceId: 'gate-7',
        context: { gate: 'A', note: 'VIP' },
        externalRef: 'first',
        reason: null,
        matchedCount: 1,
        createdAt: now,
      },
      pass: {
        id: pass.id,
        externalPassId: pass.externalPassId,
        label: 'Ada Lovelace',
        projectId: project.id,
        projectName: 'Harbour season',
        templateVersionId: pass.templateVersionId,
        templateName: 'Ticket',
        templateVersionNumber: 1,
        expiresAt: '2026-12-31T00:00:00.000Z',
        acceptedScanCount: 1,
        lastAcceptedScanAt: now,
        scanContextKey: '2026-03-01',
        contextAcceptedScanCount: 1,
        contextLastAcceptedScanAt: now,
        photoUrl: `https://photos.example/${pass.code}.jpg`,
        variables: { code: pass.code, until: '2026-12-31T00:00:00Z' },
      },
      message: 'Valid. Use 1 of 3.',
      priorScanCount: 0,
      isFirstScan: true,
      idempotentReplay: false,
      candidates: [],
    })
  })

  test('GET returns the item of the ledger, byte for byte as in pass.scanned', async () => {
    const pass = await scannablePass(workspace)
    const context = { note: 'Grüße 👋 "quoted" \\ \u2028', gate: '', sessionId: '7' }
    const bodies = [
      { qrPayload: pass.code, context, deviceId: 'd', validityDate: '2026-03-05', scanContextKey: 'k' },
      { passId: pass.id, scanContextKey: 'k', scannedAt: '2026-03-01T00:00:00.123456+05:30' },
    ]
    for (const body of bodies) {
      const { id } = (await scan(workspace, body)).scan
      const { text } = await workspace.call(scans.get, { params: { id } })
      expect(await eventsOf(id)).toEqual([{ type: 'pass.scanned', data: text }])
      const [item] = (await workspace.ok(scans.list, { query: { passId: pass.id } })).items.filter(
        (one) => one.id === id,
      )
      expect(JSON.stringify(item)).toBe(text)
    }
    const [, first] = (
      await workspace.ok(scans.list, { query: { passId: pass.id, from: '2026-01-01T00:00Z' } })
    ).items.reverse()
    expect(first).toEqual({
      id: expect.any(String),
      result: 'accepted',
      reason: 'valid',
      verified: 'online',
      passId: pass.id,
      projectId: null,
      externalPassId: pass.externalPassId,
      scannedAt: '2026-03-05T12:00:00.000Z',
      recordedAt: api.now.toISOString(),
      deviceId: 'd',
      metadata: { gate: '', sessionId: '7', note: context.note, validateAsOf: '2026-03-05' },
    })
  })

  test('every attempt on a known pass emits an event, and none on an unknown one', async () => {
    const pass = await scannablePass(workspace)
    const attempts = [await scan(workspace, { qrPayload: pass.code }), await scan(workspace, { qrPayload: pass.code })]
    for (const { scan } of attempts) expect(await eventsOf(scan.id)).toHaveLength(1)
    const unknown = await scan(workspace, { qrPayload: 'who is this' })
    expect(await eventsOf(unknown.scan.id)).toEqual([])
    const item = await workspace.ok(scans.get, { params: { id: unknown.scan.id } })
    expect(item).toMatchObject({ result: 'denied', reason: 'no_match', passId: null, externalPassId: null })
  })

  test('concurrent scans share commits, and each has its own decision', async () => {
    const project = await makeProject(workspace, 'Elsewhere')
    const single = await scannablePass(workspace)
    const dated = await scannablePass(workspace, {
      redemption: { windows: [{ start: '2026-02-01T00:00Z', end: '2026-02-02T00:00Z' }] },
    })
    const daily = await scannablePass(workspace, {
      redemption: { perPeriod: { unit: 'day', count: 2, timezone: 'UTC' }, autoVoidOnExhaustion: true },
    })
    const old = await scannablePass(workspace)
    await workspace.ok(passes.update, { params: { id: old.id }, body: { variables: { code: 'another' } } })
    const bodies: [ScanCreate, string][] = [
      [{ qrPayload: single.code, context: { gate: 'North' } }, 'valid'],
      [{ qrPayload: single.code }, 'already_scanned'],
      [{ qrPayload: 'nobody' }, 'no_match'],
      [{ qrPayload: dated.code }, 'out_of_window'],
      [{ passId: daily.id }, 'valid'],
      [{ passId: daily.id, scanContextKey: 'other' }, 'valid'],
      [{ passId: daily.id, scanContextKey: 'third' }, 'quota_exhausted'],
      [{ qrPayload: old.code }, 'stale_identifier'],
      [{ qrPayload: 'another' }, 'valid'],
      [{ qrPayload: dated.code, projectId: project.id }, 'wrong_scope'],
    ]
    const statements: string[] = []
    const { writer } = api.database.forRequests(workspace.id)
    writer.on('query', ({ sql }) => statements.push(sql))
    const answers = await Promise.all(bodies.map(([body]) => scan(workspace, body)))
    const reasons = answers.map(({ reasonCode }) => reasonCode)
    expect(reasons).toEqual(bodies.map(([, reasonCode]) => reasonCode))
    expect(answers[1]!.message).toContain('North')
    for (const [n, { scan }] of answers.entries()) {
      expect(await eventsOf(scan.id), `scan ${n}`).toHaveLength(scan.passId === null ? 0 : 1)
    }
    // Three scans of one pass need three transactions. Scans that arrived before the first one began share it.
    expect(statements.filter((sql) => /^begin/i.test(sql)).length).toBeLessThanOrEqual(5)
  })

  test('a replay returns the first decision and scan with the current pass, and records nothing', async () => {
    const pass = await scannablePass(workspace)
    const body = { qrPayload: pass.code, externalRef: 'once' }
    const first = await scan(workspace, body)
    await scan(workspace, { qrPayload: pass.code, scanContextKey: 'elsewhere' })
    await workspace.ok(passes.update, { params: { id: pass.id }, body: { label: 'Grace Hopper' } })
    const before = await workspace.ok(scans.list, { query: { passId: pass.id } })
    // Only the reference makes a request a repetition, regardless of its other fields.
    for (const again of [body, { qrPayload: 'other', externalRef: 'once' }]) {
      const { pass: live, ...answer } = await scan(workspace, again)
      expect(answer).toEqual({ ...first, pass: undefined, idempotentReplay: true })
      expect(live).toMatchObject({ label: 'Grace Hopper', acceptedScanCount: 2, contextAcceptedScanCount: 1 })
    }
    expect(await workspace.ok(scans.list, { query: { passId: pass.id } })).toEqual(before)
    const ambiguous = { qrPayload: 'replayed', externalRef: 'ambiguous' }
    await scannablePass(workspace, { code: 'replayed' })
    await scannablePass(workspace, { code: 'replayed' })
    const choice = await scan(workspace, ambiguous)
    expect(await scan(workspace, ambiguous)).toEqual({ ...choice, idempotentReplay: true })
  })

  test('one of 100 concurrent scans with one externalRef has an effect, and all get its response', async () => {
    const pass = await scannablePass(workspace, { redemption: { maxUses: 50 } })
    const body = { qrPayload: pass.code, externalRef: 'hundredfold' }
    const answers = await Promise.all(Array.from({ length: 100 }, () => scan(workspace, body)))
    expect(new Set(answers.map(({ scan }) => scan.id)).size).toBe(1)
    expect(answers.filter(({ idempotentReplay }) => !idempotentReplay)).toHaveLength(1)
    expect((await workspace.ok(scans.list, { query: { passId: pass.id } })).total).toBe(1)
    expect(await eventsOf(answers[0]!.scan.id)).toHaveLength(1)
    expect(answers[0]!.pass?.acceptedScanCount).toBe(1)
  })

  test('one of 50 concurrent scans of a single-use pass is accepted, and all others are duplicates', async () => {
    const pass = await scannablePass(workspace)
    const answers = await Promise.all(Array.from({ length: 50 }, () => scan(workspace, { qrPayload: pass.code })))
    const count = (result: string) => answers.filter((answer) => answer.result === result).length
    expect({ accepted: count('accepted'), duplicate: count('duplicate') }).toEqual({ accepted: 1, duplicate: 49 })
  })

  test.runIf(dialect === 'postgres')(
    'a scan waits for a transaction that has locked its pass, and counts its result',
    async () => {
      const pass = await scannablePass(workspace)
      let answer!: ReturnType<typeof scan>
      await api.services.store.transaction(async (tx) => {
        await tx.passes.listForUpdate(workspace.id, [pass.id])
        answer = scan(workspace, { qrPayload: pass.code })
        await overOrBlocked(api.database, answer)
        await tx.passes.setVoid(workspace.id, [pass.id], api.now)
      })
      expect(await answer).toMatchObject({ result: 'denied', reasonCode: 'revoked' })
    },
  )

  test('the same externalRef means another scan in another workspace', async () => {
    const other = await api.workspace()
    const pass = await scannablePass(other)
    await scan(workspace, { qrPayload: 'x', externalRef: 'mine' })
    expect(await scan(other, { qrPayload: pass.code, externalRef: 'mine' })).toMatchObject({
      result: 'accepted',
      idempotentReplay: false,
    })
  })

  test('a rejected holder gets time and place of the first use', async () => {
    const once = await scannablePass(workspace)
    const thrice = await scannablePass(workspace, {
      redemption: { perPeriod: { unit: 'day', count: 3, timezone: 'Europe/Berlin' } },
    })
    const message = async (code: string, gate: string) =>
      (await scan(workspace, { qrPayload: code, context: { gate } })).message
    await message(once.code, 'Gate A')
    expect(await message(once.code, 'Gate B')).toBe('Already used on 1 Mar 2026 at 12:00:00 UTC, Gate A.')
    for (const gate of ['North', 'East', 'South']) await message(thrice.code, gate)
    expect(await message(thrice.code, 'West')).toBe(
      'Used up for this day: 3 of 3 uses, the first on 1 Mar 2026 at 13:00:00 Europe/Berlin, North.',
    )
  })

  test('rejects a scan without payload and ID, and errors have no errorCode', async () => {
    const rejection = await workspace.refused(scans.create, { body: { projectId: 'x', deviceId: 'd'.repeat(129) } })
    expect(Object.keys(rejection).sort()).toEqual(['correlationId', 'details', 'message', 'status'])
    const bare = await workspace.refused(scans.create, { body: {} })
    expect(bare).toMatchObject({ status: 400, message: 'qrPayload: Give qrPayload or passId' })
    const context = { conflict: 'valid', validateAsOf: '2026-01-01' } as never
    expect(await workspace.refused(scans.create, { body: { qrPayload: 'x', context } })).toMatchObject({ status: 400 })
    const stranger = await api.send('POST', '/v1/scans', { body: {} })
    expect([stranger.status, Object.keys(stranger.body as object)]).toEqual([
      401,
      ['message', 'correlationId', 'details'],
    ])
  })

  test('the ledger cannot be changed, not even by its own server', async () => {
    const { id } = (await scan(workspace, { qrPayload: 'kept' })).scan
    const { writer } = api.database
    await expect(writer('scans').where({ id }).update({ result: 'accepted' })).rejects.toThrow(/append-only/)
    await expect(writer('scans').where({ id }).delete()).rejects.toThrow(/append-only/)
    expect(await workspace.ok(scans.get, { params: { id } })).toMatchObject({ result: 'denied' })
  })

  test('a dry run explains the decision of a scan and records nothing', async () => {
    const pass = await scannablePass(workspace, {
      redemption: {
        maxUses: 2,
        minIntervalMinutes: 10,
        windows: [{ start: '2026-03-01T10:00Z', end: '2026-03-02T10:00Z' }],
      },
    })
    await scan(workspace, { qrPayload: pass.code })
    const explain = (at?: string) =>
      workspace.ok(scans.explain, { params: { id: pass.id }, query: at === undefined ? {} : { at } })
    const now = await explain()
    expect(now).toMatchObject({ result: 'denied', reasonCode: 'cooldown', at: api.now.toISOString() })
    expect(now.checks.map(({ check, outcome }) => [check, outcome])).toEqual([
      ['revoked', 'passed'],
      ['expired', 'passed'],
      ['not_active', 'passed'],
      ['not_valid_context', 'not_applicable'],
      ['out_of_window', 'passed'],
      ['quota_exhausted', 'passed'],
      ['cooldown', 'failed'],
      ['already_scanned', 'not_applicable'],
    ])
    expect(now.checks[5]!.facts).toMatchObject({ maxUses: 2, uses: 1 })
    expect(now.checks[6]!.facts).toEqual({
      minIntervalMinutes: 10,
      previousAt: api.now.toISOString(),
      nextAt: null,
      allowedAt: '2026-03-01T12:10:00.000Z',
    })
    expect(await explain('2026-03-01T12:10:00Z')).toMatchObject({ result: 'accepted', reasonCode: 'valid' })
    expect(await explain('2026-04-01T00:00:00Z')).toMatchObject({ reasonCode: 'out_of_window' })
    expect((await workspace.ok(scans.list, { query: { passId: pass.id } })).total).toBe(1)
  })
})
