import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { passes } from '../../../../src/core/contract/passes.ts'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { makeProject } from '../../fixtures.ts'
import { queuedPass, scan, scannablePass } from './scan-support.ts'

/** Every decision of a scan, in the order of the checks, made by the real service. */
describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  test('1. an unknown payload or ID, or one of another workspace, is unknown', async () => {
    const foreign = await scannablePass(await api.workspace())
    for (const body of [{ qrPayload: 'nobody' }, { qrPayload: foreign.code }, { passId: foreign.id }]) {
      const answer = await scan(workspace, body)
      expect(answer).toMatchObject({ result: 'unknown', reasonCode: 'no_match', pass: null, candidates: [] })
      expect(answer.scan).toMatchObject({ passId: null, projectId: null, matchedCount: 0, redemptionSnapshot: null })
    }
  })

  test('1. a payload of several passes is ambiguous, and the selected pass is scanned', async () => {
    const [one, other] = [
      await scannablePass(workspace, { code: 'shared', label: 'One' }),
      await scannablePass(workspace, { code: 'shared', label: 'Other' }),
    ]
    const answer = await scan(workspace, { qrPayload: 'shared' })
    expect(answer).toMatchObject({ result: 'ambiguous', reasonCode: 'multiple_matches', pass: null })
    expect(answer.scan).toMatchObject({ passId: null, matchedCount: 2 })
    expect(answer.candidates.map(({ label }) => label)).toEqual(['One', 'Other'])
    expect(await scan(workspace, { qrPayload: 'shared', passId: other.id })).toMatchObject({ result: 'accepted' })
    expect(await scan(workspace, { qrPayload: 'shared' })).toMatchObject({
      candidates: [
        { id: one.id, acceptedScanCount: 0 },
        { id: other.id, acceptedScanCount: 1 },
      ],
    })
  })

  test('1. if the project has matches, only those count', async () => {
    const [project, empty] = [await makeProject(workspace), await makeProject(workspace)]
    const pass = await scannablePass(workspace, { code: 'twice', projectId: project.id })
    await scannablePass(workspace, { code: 'twice' })
    const narrowed = await scan(workspace, { qrPayload: 'twice', projectId: project.id })
    expect(narrowed).toMatchObject({ result: 'accepted', pass: { id: pass.id }, scan: { matchedCount: 1 } })
    expect(await scan(workspace, { qrPayload: 'twice', projectId: empty.id })).toMatchObject({ result: 'ambiguous' })

    await scannablePass(workspace, { code: 'twice', projectId: project.id })
    const two = { qrPayload: 'twice', projectId: project.id, externalRef: 'twice in the project' }
    const first = await scan(workspace, two)
    expect(first.candidates).toHaveLength(2)
    expect(await scan(workspace, two)).toEqual({ ...first, idempotentReplay: true })
  })

  test('1. at most twenty candidates are shown of any number of matches', async () => {
    for (let count = 0; count < 22; count += 1) await scannablePass(workspace, { code: 'many' })
    const answer = await scan(workspace, { qrPayload: 'many' })
    expect([answer.candidates.length, answer.scan.matchedCount]).toEqual([20, 22])
  })

  test('2. a pass of another project, or of no project, is out of scope', async () => {
    const [project, other] = [await makeProject(workspace), await makeProject(workspace)]
    const pass = await scannablePass(workspace, { projectId: project.id })
    const answer = await scan(workspace, { qrPayload: pass.code, projectId: other.id })
    expect(answer).toMatchObject({ result: 'denied', reasonCode: 'wrong_scope', pass: { id: pass.id } })
    const homeless = await scannablePass(workspace)
    expect(await scan(workspace, { passId: homeless.id, projectId: other.id })).toMatchObject({
      reasonCode: 'wrong_scope',
    })
    expect(await scan(workspace, { qrPayload: pass.code, projectId: project.id })).toMatchObject({ result: 'accepted' })
  })

  test('3. a former code is stale, unless another pass has it now', async () => {
    const pass = await scannablePass(workspace, { code: 'before' })
    await workspace.ok(passes.update, { params: { id: pass.id }, body: { variables: { code: 'after' } } })
    const stale = { result: 'denied', reasonCode: 'stale_identifier', pass: { id: pass.id } }
    expect(await scan(workspace, { qrPayload: 'before' })).toMatchObject(stale)
    expect(await scan(workspace, { qrPayload: 'before', passId: pass.id })).toMatchObject(stale)
    expect(await scan(workspace, { qrPayload: 'after' })).toMatchObject({ result: 'accepted' })
    const heir = await scannablePass(workspace, { code: 'before' })
    expect(await scan(workspace, { qrPayload: 'before' })).toMatchObject({ result: 'accepted', pass: { id: heir.id } })
    await workspace.ok(passes.update, { params: { id: pass.id }, body: { variables: { code: 'before' } } })
    expect(await scan(workspace, { qrPayload: 'before' })).toMatchObject({ result: 'ambiguous' })
  })

  test('3. a payload that passes of the project carried before takes precedence over passes elsewhere', async () => {
    const [project, other] = [await makeProject(workspace), await makeProject(workspace)]
    const ours = await scannablePass(workspace, { code: 'moved', projectId: project.id })
    await workspace.ok(passes.update, { params: { id: ours.id }, body: { variables: { code: 'moved on' } } })
    const theirs = await scannablePass(workspace, { code: 'moved', projectId: other.id })
    const on = (projectId?: string) => scan(workspace, { qrPayload: 'moved', ...(projectId && { projectId }) })
    const stale = { result: 'denied', reasonCode: 'stale_identifier', pass: { id: ours.id } }
    expect(await on(project.id)).toMatchObject(stale)
    expect(await on(other.id)).toMatchObject({ result: 'accepted', pass: { id: theirs.id } })
    expect(await on()).toMatchObject({ result: 'duplicate', pass: { id: theirs.id } })
    // A pass of the same project that has the code now takes precedence.
    const heir = await scannablePass(workspace, { code: 'moved', projectId: project.id })
    expect(await on(project.id)).toMatchObject({ result: 'accepted', pass: { id: heir.id } })
  })

  test('4. a void pass is revoked', async () => {
    const pass = await scannablePass(workspace)
    await workspace.ok(passes.void, { params: { id: pass.id } })
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ result: 'denied', reasonCode: 'revoked' })
  })

  test('5. a pass is expired at expiresAt itself, by the operational time', async () => {
    const until = new Date(api.now.getTime() + 60_000).toISOString()
    const pass = await scannablePass(workspace, { until })
    const expired = { result: 'denied', reasonCode: 'expired' }
    expect(await scan(workspace, { qrPayload: pass.code, scannedAt: until })).toMatchObject(expired)
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ result: 'accepted' })
  })

  test('5. activation runs from the first accepted scan', async () => {
    const activation = { basis: 'firstScan', validForHours: 1 } as const
    const pass = await scannablePass(workspace, { redemption: { maxUses: 5, activation } })
    const scanAfter = (minutes: number) =>
      scan(workspace, {
        qrPayload: pass.code,
        scannedAt: new Date(api.now.getTime() + minutes * 60_000).toISOString(),
      })
    expect(await scanAfter(0)).toMatchObject({ result: 'accepted', isFirstScan: true })
    expect(await scanAfter(59)).toMatchObject({ result: 'accepted', isFirstScan: false })
    expect(await scanAfter(60)).toMatchObject({ result: 'denied', reasonCode: 'expired' })
  })

  test('5. an activation alone is a limit: a day ticket is accepted during its hours, any number of times', async () => {
    const activation = { basis: 'firstScan', validForHours: 24 } as const
    const pass = await scannablePass(workspace, { redemption: { activation } })
    const scanAfter = async (hours: number) => {
      const scannedAt = new Date(api.now.getTime() + hours * 3_600_000).toISOString()
      return (await scan(workspace, { qrPayload: pass.code, scannedAt })).reasonCode
    }
    expect([await scanAfter(0), await scanAfter(0), await scanAfter(23.9), await scanAfter(24)]).toEqual([
      'valid',
      'valid',
      'valid',
      'expired',
    ])
  })

  test('5. as of a date, a pass is expired after its last date, or by its current status', async () => {
    const until = new Date(api.now.getTime() + 24 * 3_600_000).toISOString()
    const pass = await scannablePass(workspace, { until })
    const date = (days: number) => new Date(api.now.getTime() + days * 24 * 3_600_000).toISOString().slice(0, 10)
    const on = async (validityDate: string, scanContextKey: string) =>
      (await scan(workspace, { qrPayload: pass.code, validityDate, scanContextKey })).reasonCode
    const explained = async (validityDate: string) =>
      (await workspace.ok(scans.explain, { params: { id: pass.id }, query: { validityDate } })).reasonCode
    expect([await explained(date(1)), await explained(date(2))]).toEqual(['valid', 'expired'])
    expect([await on(date(1), 'one'), await on(date(2), 'two'), await on(date(-9), 'three')]).toEqual([
      'valid',
      'expired',
      'valid',
    ])
    const before = api.now
    api.advance(25 * 3600)
    onTestFinished(() => {
      api.now = before
    })
    expect([await on(date(0), 'four'), await on(date(-1), 'five')]).toEqual(['expired', 'expired'])
  })

  test('6. a pass that is not issued is not active', async () => {
    const pass = await queuedPass(workspace)
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ reasonCode: 'not_active' })
  })

  test('7. to 9. windows: the date, the time, and the uses of each', async () => {
    const windows = [
      { start: '2026-03-01T11:00:00+01:00', end: '2026-03-01T14:00:00+01:00', maxUses: 1 },
      { start: '2026-03-02T11:00:00+01:00', end: '2026-03-02T14:00:00+01:00', maxUses: 1 },
    ]
    const pass = await scannablePass(workspace, { redemption: { windows } })
    const on = (body: object) => scan(workspace, { qrPayload: pass.code, ...body })
    expect(await on({ validityDate: '2026-03-03' })).toMatchObject({ reasonCode: 'not_valid_context' })
    expect(await on({ scannedAt: '2026-03-01T13:00:00Z' })).toMatchObject({ reasonCode: 'out_of_window' })
    expect(await on({})).toMatchObject({ result: 'accepted' })
    expect(await on({})).toMatchObject({ result: 'denied', reasonCode: 'quota_exhausted' })
    expect(await on({ validityDate: '2026-03-01' })).toMatchObject({ reasonCode: 'quota_exhausted' })
    const other = await on({ validityDate: '2026-03-02' })
    expect(other).toMatchObject({ result: 'accepted', scan: { scannedAt: '2026-03-02T12:00:00.000Z' } })
    expect(other.scan.recordedAt).toBe(api.now.toISOString())
  })

  test('7. the operational time of a validity date is clamped into its window', async () => {
    const windows = [{ start: '2026-03-02T18:00:00+01:00', end: '2026-03-02T22:00:00+01:00' }]
    const pass = await scannablePass(workspace, { redemption: { windows, maxUses: 5 } })
    const at = async (scannedAt: string) =>
      (await scan(workspace, { qrPayload: pass.code, validityDate: '2026-03-02', scannedAt })).scan.scannedAt
    expect(await at('2026-02-01T08:00:00Z')).toBe('2026-03-02T17:00:00.000Z')
    expect(await at('2026-02-01T22:30:00Z')).toBe('2026-03-02T20:59:59.999Z')
  })

  test('8. the first overlapping window with uses left is debited and stored', async () => {
    const windows = [
      { start: '2026-03-01T10:00Z', end: '2026-03-01T13:00Z', maxUses: 1 },
      { start: '2026-03-01T11:00Z', end: '2026-03-01T15:00Z', maxUses: 1 },
    ]
    const at = (workspace: TestWorkspace, code: string) => async (time: string) =>
      (await scan(workspace, { qrPayload: code, scannedAt: `2026-03-01T${time}Z` })).reasonCode
    const one = at(workspace, (await scannablePass(workspace, { redemption: { windows } })).code)
    expect([await one('12:00'), await one('14:00'), await one('12:30')]).toEqual(['valid', 'valid', 'quota_exhausted'])
    const two = at(workspace, (await scannablePass(workspace, { redemption: { windows } })).code)
    expect([await two('12:00'), await two('12:30'), await two('14:00')]).toEqual(['valid', 'valid', 'quota_exhausted'])
  })

  test('7. the first window of a date with uses left is debited, and the last rejects', async () => {
    const windows = [
      { start: '2031-05-01T08:00Z', end: '2031-05-01T10:00Z', maxUses: 1 },
      { start: '2031-05-01T18:00Z', end: '2031-05-01T20:00Z', maxUses: 1 },
    ]
    const pass = await scannablePass(workspace, { redemption: { windows } })
    const on = async () => {
      const { reasonCode, scan: record } = await scan(workspace, { qrPayload: pass.code, validityDate: '2031-05-01' })
      return [reasonCode, record.scannedAt.slice(0, 13)]
    }
    expect(await on()).toEqual(['valid', '2031-05-01T09'])
    expect(await on()).toEqual(['valid', '2031-05-01T18'])
    expect(await on()).toEqual(['quota_exhausted', '2031-05-01T18'])
  })

  test('8. windows without a limit are contexts: a two-day ticket is admitted once on each day', async () => {
    const windows = [
      { start: '2026-03-01T00:00Z', end: '2026-03-02T00:00Z' },
      { start: '2026-03-02T00:00Z', end: '2026-03-03T00:00Z' },
    ]
    const pass = await scannablePass(workspace, { redemption: { windows } })
    const at = async (time: string, rest = {}) =>
      (await scan(workspace, { qrPayload: pass.code, scannedAt: `2026-03-${time}Z`, ...rest })).reasonCode
    expect([await at('01T12:00'), await at('01T13:00'), await at('02T12:00')]).toEqual([
      'valid',
      'already_scanned',
      'valid',
    ])
    expect(await at('01T12:00', { validityDate: '2026-03-02' })).toBe('already_scanned')
    const vip = { scanContextKey: 'vip' }
    expect([await at('01T12:00', vip), await at('02T12:00', vip)]).toEqual(['valid', 'already_scanned'])
    const told = await workspace.ok(scans.explain, { params: { id: pass.id }, query: { at: '2026-03-02T13:00:00Z' } })
    expect(told).toMatchObject({ result: 'duplicate', message: 'Already used on 2 Mar 2026 at 12:00:00 UTC.' })
    expect(told.checks.at(-1)).toMatchObject({
      check: 'already_scanned',
      facts: { acceptedInContext: 1, firstAt: '2026-03-02T12:00:00.000Z', windows: [{ start: '2026-03-02T00:00Z' }] },
    })
  })

  test('10. the minimum interval does not apply to scans as of a date', async () => {
    const pass = await scannablePass(workspace, { redemption: { minIntervalMinutes: 30 } })
    const now = api.now.toISOString()
    const on = async (body: object) =>
      (await scan(workspace, { qrPayload: pass.code, scannedAt: now, ...body })).reasonCode
    const today = { validityDate: now.slice(0, 10) }
    expect([await on(today), await on(today), await on({}), await on({}), await on(today)]).toEqual([
      'valid',
      'valid',
      'valid',
      'cooldown',
      'valid',
    ])
  })

  test('9. periods of a time zone, and uses in all', async () => {
    const perPeriod = { unit: 'day', count: 2, timezone: 'America/New_York' } as const
    const pass = await scannablePass(workspace, { redemption: { perPeriod, maxUses: 4 } })
    const at = async (time: string) => (await scan(workspace, { qrPayload: pass.code, scannedAt: time })).reasonCode
    // 8 March 2026 has 23 hours in New York.
    expect(await at('2026-03-08T05:00:00Z')).toBe('valid')
    expect(await at('2026-03-09T03:59:59Z')).toBe('valid')
    expect(await at('2026-03-08T12:00:00Z')).toBe('quota_exhausted')
    expect(await at('2026-03-09T04:00:00Z')).toBe('valid')
    expect(await at('2026-03-08T04:59:59Z')).toBe('valid')
    expect(await at('2026-05-01T00:00:00Z')).toBe('quota_exhausted')
  })

  test('9. a use at the start of a period counts only in that period', async () => {
    const perPeriod = { unit: 'day', count: 1, timezone: 'UTC' } as const
    const pass = await scannablePass(workspace, { redemption: { perPeriod } })
    const at = async (time: string) => (await scan(workspace, { qrPayload: pass.code, scannedAt: time })).reasonCode
    expect(await at('2026-03-09T00:00:00Z')).toBe('valid')
    expect(await at('2026-03-08T23:59:59Z')).toBe('valid')
    expect(await at('2026-03-08T00:00:00Z')).toBe('quota_exhausted')
    expect(await at('2026-03-09T23:59:59Z')).toBe('quota_exhausted')
  })

  test('10. too soon after a scan, or too close before one', async () => {
    const pass = await scannablePass(workspace, { redemption: { minIntervalMinutes: 30 } })
    const at = async (time: string) =>
      (await scan(workspace, { qrPayload: pass.code, scannedAt: `2026-03-01T${time}Z` })).reasonCode
    expect([await at('12:00'), await at('12:29'), await at('11:31')]).toEqual(['valid', 'cooldown', 'cooldown'])
    expect([await at('12:30'), await at('11:30')]).toEqual(['valid', 'valid'])
  })

  test('11. without limits, a pass is admitted once per scan context, including the empty one', async () => {
    const pass = await scannablePass(workspace)
    const on = (scanContextKey?: string) =>
      scan(workspace, { qrPayload: pass.code, ...(scanContextKey && { scanContextKey }) })
    expect(await on()).toMatchObject({ result: 'accepted', priorScanCount: 0, isFirstScan: true })
    expect(await on()).toMatchObject({ result: 'duplicate', reasonCode: 'already_scanned', priorScanCount: 1 })
    expect(await on('day 1')).toMatchObject({ result: 'accepted', priorScanCount: 1, isFirstScan: false })
    expect(await on('day 1')).toMatchObject({ result: 'duplicate', pass: { contextAcceptedScanCount: 1 } })
    expect(await on('day 2')).toMatchObject({ result: 'accepted', pass: { acceptedScanCount: 3 } })
  })

  test('12. the last use voids a pass if its policy requires it', async () => {
    const pass = await scannablePass(workspace, { redemption: { maxUses: 2, autoVoidOnExhaustion: true } })
    const statusNow = async () => (await workspace.ok(passes.get, { params: { id: pass.id } })).status
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ result: 'accepted' })
    expect(await statusNow()).toBe('ISSUED')
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ result: 'accepted' })
    expect(await statusNow()).toBe('VOID')
    expect(await scan(workspace, { qrPayload: pass.code })).toMatchObject({ reasonCode: 'revoked' })
    const voided = (await workspace.events(pass.id)).filter(({ type }) => type === 'pass.voided')
    expect(voided.map(({ data }) => data)).toEqual([
      { id: pass.id, externalPassId: pass.externalPassId, reason: 'exhausted' },
    ])
  })

  test('the message is in the requested language, and a replay repeats it', async () => {
    const pass = await scannablePass(workspace, { redemption: { maxUses: 2 } })
    const told = async (language: string | undefined, body: object) => {
      const headers: Record<string, string> = language === undefined ? {} : { 'accept-language': language }
      return (await workspace.call(scans.create, { body: { passId: pass.id, ...body } }, headers)).body
    }
    expect(await told('de-AT,de;q=0.9', { externalRef: 'first' })).toMatchObject({
      message: 'Gültig. Nutzung 1 von 2.',
    })
    expect(await told('ar', { externalRef: 'first' })).toMatchObject({ message: 'Gültig. Nutzung 1 von 2.' })
    expect(await told('fi, ja;q=0.5', {})).toMatchObject({ message: '有効です。 2／2回目。' })
    const { message } = (await told('uk', {})) as { message: string }
    expect(message).toMatch(/^Вичерпано: використань 2 з 2, перше: 1.+2026.+12:00:00 UTC\.$/)
    expect(await told(undefined, {})).toMatchObject({ message: expect.stringMatching(/^Used up: 2 of 2 uses/) })
    // This language tag is well-formed but unknown.
    expect(await told('de-a, fr-1', {})).toMatchObject({ message: expect.stringMatching(/^Aufgebraucht: 2 von 2/) })
    const explained = await workspace.call(scans.explain, { params: { id: pass.id } }, { 'accept-language': 'he' })
    expect(explained.body).toMatchObject({ message: expect.stringMatching(/^נוצל במלואו: 2 מתוך 2/) })
  })

  test('a message has its times in the zone of X-Time-Zone, if it exists', async () => {
    const windows = [{ start: '2026-06-01T09:00:00+09:00', end: '2026-06-02T09:00:00+09:00' }]
    const pass = await scannablePass(workspace, { redemption: { windows } })
    const messageIn = async (zone: string | undefined, language = 'en') => {
      const headers = { 'accept-language': language, ...(zone !== undefined && { 'x-time-zone': zone }) }
      const { body } = await workspace.call(scans.create, { body: { passId: pass.id } }, headers)
      return (body as { message: string }).message
    }
    const inPolicyZone = await messageIn(undefined)
    expect(inPolicyZone).toMatch(/1 Jun 2026 at 09:00:00 UTC\+9\.$/)
    expect(await messageIn('Europe/Berlin')).toMatch(/1 Jun 2026 at 02:00:00 Europe\/Berlin\.$/)
    expect(await messageIn('Europe/Berlin', 'de')).toContain('02:00:00 Europe/Berlin')
    for (const unknown of ['Europe/Nowhere', '+09:00', ' ', 'x'.repeat(5_000)])
      expect(await messageIn(unknown)).toBe(inPolicyZone)
  })

  test.each([
    ['its definition', { timeZone: 'Asia/Tokyo' }],
    ['the departure of its trip', { trip: { mode: 'train', from: { timeZone: 'Asia/Tokyo' } } }],
  ] as const)('without X-Time-Zone, a message has its times in the time zone of %s', async (_, parts) => {
    const pass = await scannablePass(workspace, { redemption: { maxUses: 1 }, parts })
    const { scan: first } = await scan(workspace, { passId: pass.id })
    const { message } = await scan(workspace, { passId: pass.id })
    expect(message).toMatch(/ at 21:00:00 Asia\/Tokyo\.$/)
    const explained = await workspace.ok(scans.explain, { params: { id: pass.id } })
    expect(explained.message).toBe(message)
    const reversed = await workspace.ok(scans.reverse, { params: { id: first.id }, body: {} })
    expect(reversed.message).toContain('Asia/Tokyo')
  })
})
