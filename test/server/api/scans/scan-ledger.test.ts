import { beforeAll, describe, expect, test } from 'vitest'
import { passes } from '../../../../src/core/contract/passes.ts'
import { projects } from '../../../../src/core/contract/projects.ts'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import type { ScanItem } from '../../../../src/core/contract/schemas/scan-shapes.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { makePass, makeProject, publishedTemplate } from '../../fixtures.ts'
import { scan, scannable } from './scan-support.ts'

/** One evening with two projects, five passes, and every event that can happen at a door. */
describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)
  let workspace: TestWorkspace
  let ids: Record<'concert' | 'play' | 'concertTemplate' | 'playTemplate' | 'a' | 'b' | 'c' | 'd' | 'homeless', string>
  /** All scans of the ledger, newest first, each with its result in the format of section 2.7. */
  let ledger: ScanItem[]
  const results = new Map<string, { result: string; context: string | null }>()

  beforeAll(async () => {
    workspace = await api.workspace()
    const [concert, play] = [await makeProject(workspace, 'Concert'), await makeProject(workspace, 'Play')]
    const [concertTemplate, playTemplate, plain] = [
      await publishedTemplate(workspace, { projectId: concert.id, definition: scannable() }),
      await publishedTemplate(workspace, { projectId: play.id, definition: scannable({ maxUses: 1 }) }),
      await publishedTemplate(workspace, { definition: scannable() }),
    ]
    const make = async (templateId: string, code: string) =>
      (await makePass(workspace, templateId, { variables: { code } })).id
    ids = {
      concert: concert.id,
      play: play.id,
      concertTemplate: concertTemplate.id,
      playTemplate: playTemplate.id,
      a: await make(concertTemplate.id, 'a'),
      b: await make(concertTemplate.id, 'b'),
      c: await make(playTemplate.id, 'c'),
      d: await make(playTemplate.id, 'shared'),
      homeless: await make(plain.id, 'shared'),
    }
    await api.runJobs()
    const at = async (minute: number, body: object) => {
      api.advance(1)
      const scannedAt = `2026-03-01T20:${String(minute).padStart(2, '0')}:00Z`
      const { scan: record, result } = await scan(workspace, { scannedAt, ...body })
      results.set(record.id, { result, context: record.scanContextKey })
      return record.id
    }
    const first = await at(0, { qrPayload: 'a', scanContextKey: '2026-03-01', context: { gate: 'North' } })
    await at(1, { qrPayload: 'a', scanContextKey: '2026-03-01' })
    // This scan was made before the following ones, but is recorded after them.
    await at(9, { qrPayload: 'a', scanContextKey: '2026-03-02' })
    await at(3, { qrPayload: 'b', context: { gate: 'North', lane: '2' } })
    await at(4, { qrPayload: 'b', projectId: ids.play, context: { gate: 'Süd "1"' } })
    await at(5, { qrPayload: 'c', scanContextKey: '2026-03-01' })
    await at(6, { qrPayload: 'c', scanContextKey: '2026-03-02' })
    await at(7, { qrPayload: 'nobody', projectId: ids.play, context: { gate: '' } })
    await at(8, { qrPayload: 'shared' })
    await at(8, { passId: ids.homeless })
    api.now = new Date('2026-03-01T20:30:00Z')
    const reversal = await workspace.ok(scans.reverse, { params: { id: first }, body: { context: { gate: 'North' } } })
    results.set(reversal.scan.id, { result: 'reversal', context: '2026-03-01' })
    ledger = (await list({ limit: 100 })).items
  })

  const list = (query: Record<string, unknown>) => workspace.ok(scans.list, { query: query as never })
  const stats = (query: Record<string, unknown> = {}) => workspace.ok(scans.stats, { query: query as never })

  test('the ledger is shown newest first, by the time of the scan', () => {
    expect(ledger).toHaveLength(11)
    const keys = ledger.map(({ scannedAt, id }) => `${scannedAt} ${id}`)
    expect(keys).toEqual([...keys].sort().reverse())
    expect(ledger.map(({ result }) => result)).toEqual([
      'reversal',
      'accepted',
      'accepted',
      'denied',
      'denied',
      'denied',
      'accepted',
      'denied',
      'accepted',
      'denied',
      'accepted',
    ])
  })

  type Told = { result: string; context: string | null }
  const filters: [string, () => Record<string, unknown>, (item: ScanItem, told: Told) => boolean][] = [
    ['passId', () => ({ passId: ids.a }), (item) => item.passId === ids.a],
    ['passIds', () => ({ passId: [ids.a, ids.b] }), (item) => [ids.a, ids.b].includes(item.passId ?? '')],
    ['projectId', () => ({ projectId: ids.play }), (item) => item.projectId === ids.play],
    ['templateId', () => ({ templateId: ids.concertTemplate }), (item) => [ids.a, ids.b].includes(item.passId ?? '')],
    ['result=accepted', () => ({ result: 'accepted' }), (item) => item.result === 'accepted'],
    ['result=denied, as shown', () => ({ result: 'denied' }), (item) => item.result === 'denied'],
    ['resultGroup=denied', () => ({ resultGroup: 'denied' }), (item) => item.result === 'denied'],
    ['resultGroup twice', () => ({ resultGroup: ['denied', 'denied'] }), (item) => item.result === 'denied'],
    ['result=duplicate', () => ({ result: 'duplicate' }), (_, { result }) => result === 'duplicate'],
    ['result=unknown', () => ({ result: 'unknown' }), (_, { result }) => result === 'unknown'],
    ['result=ambiguous', () => ({ result: 'ambiguous' }), (_, { result }) => result === 'ambiguous'],
    ['result=reversal', () => ({ result: 'reversal' }), (item) => item.result === 'reversal'],
    [
      'several results',
      () => ({ result: ['duplicate', 'reversal'] }),
      (_, { result }) => ['duplicate', 'reversal'].includes(result),
    ],
    ['reason', () => ({ reason: 'wrong_project' }), (item) => item.reason === 'wrong_project'],
    [
      'reasons',
      () => ({ reason: ['already_used', 'quota_exhausted'] }),
      (item) => ['already_used', 'quota_exhausted'].includes(item.reason ?? ''),
    ],
    ['scanContextKey', () => ({ scanContextKey: '2026-03-01' }), (_, { context }) => context === '2026-03-01'],
    [
      'from and to, both inclusive',
      () => ({ from: '2026-03-01T20:03:00Z', to: '2026-03-01T20:06:00Z' }),
      ({ scannedAt }) => scannedAt >= '2026-03-01T20:03' && scannedAt <= '2026-03-01T20:06:00.000Z',
    ],
    [
      'scannedSince and scannedUntil',
      () => ({ scannedSince: '2026-03-01T20:03:00Z', scannedUntil: '2026-03-01T22:06:00+02:00' }),
      ({ scannedAt }) => scannedAt >= '2026-03-01T20:03' && scannedAt <= '2026-03-01T20:06:00.000Z',
    ],
    [
      'all at once',
      () => ({
        passId: ids.c,
        projectId: ids.play,
        result: 'denied',
        reason: 'quota_exhausted',
        to: '2026-03-02T00:00Z',
      }),
      (item) => item.passId === ids.c && item.reason === 'quota_exhausted',
    ],
  ]

  test.each(filters)('%s filters', async (_, query, fits) => {
    const expected = ledger.filter((item) => fits(item, results.get(item.id)!))
    expect(expected.length).toBeGreaterThan(0)
    const page = await list({ ...query(), limit: 100 })
    expect(page).toMatchObject({ items: expected, total: expected.length })
    const walked: ScanItem[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const part = await list({ ...query(), limit: 2, ...(cursor && { cursor }) })
      walked.push(...part.items)
      cursor = part.nextCursor
    }
    expect(walked).toEqual(expected)
  })

  testOnce.each([
    { from: '2026-03-01T20:03:00Z', scannedSince: '2026-03-01T20:03:00Z' },
    { to: '2026-03-01T20:03:00Z', scannedUntil: '2026-03-01T20:03:00Z' },
    { sortBy: 'scannedAt' },
    { result: 'refused' },
    { reason: 'already_scanned' },
    { resultGroup: 'accepted' },
    { projectId: 'null' },
    { from: 'yesterday' },
  ])('rejects %j', async (query) => {
    const rejection = await workspace.refused(scans.list, { query: query as never })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
  })

  test('figures count attempts and admitted passes', async () => {
    const whole = { totalPasses: 5, redeemed: 4, open: 1, totalScans: 10, totalDenied: 5 }
    expect(await stats()).toEqual({ ...whole, lastScanAt: '2026-03-01T20:09:00.000Z' })
    // The scan of the first day was reversed, and that of the second was not.
    expect(await stats({ projectId: ids.concert })).toMatchObject({
      totalPasses: 2,
      redeemed: 2,
      open: 0,
      totalScans: 5,
    })
    expect(await stats({ templateId: ids.playTemplate })).toMatchObject({ totalPasses: 2, redeemed: 1, totalDenied: 1 })
    expect(await stats({ scanContextKey: '2026-03-01' })).toMatchObject({ totalPasses: 5, redeemed: 1, totalScans: 3 })
    const range = { scanContextFrom: '2026-03-01', scanContextUntil: '2026-03-02' }
    expect(await stats(range)).toMatchObject({ redeemed: 2, open: 3, totalScans: 5, totalDenied: 2 })
    const ranges = { scanContextFrom: ['2026-03-02', '2026-03-01'], scanContextUntil: ['2026-03-02', '2026-03-01'] }
    expect(await stats(ranges)).toEqual(await stats(range))
    expect(await stats({ scanContextUntil: '2026-03-01' })).toMatchObject({ redeemed: 1, totalScans: 3 })
    const window = { scannedSince: '2026-03-01T20:04:00Z', scannedUntil: '2026-03-01T20:06:00Z' }
    expect(await stats(window)).toMatchObject({ totalPasses: 5, redeemed: 1, totalScans: 3, totalDenied: 2 })
    const nothing = { totalPasses: 0, redeemed: 0, open: 0, totalScans: 0, totalDenied: 0, lastScanAt: null }
    expect(await stats({ projectId: ids.a })).toEqual(nothing)
  })

  test('figures of any window, project, and contexts match the ledger', async () => {
    const minutes = [undefined, 0, 1, 4, 8, 9]
    const dateOf = (minute: number | undefined) =>
      minute === undefined ? undefined : new Date(Date.UTC(2026, 2, 1, 20, minute))
    const reversed = new Set(ledger.map(({ reversesScanId }) => reversesScanId))
    const recount = (projectId: string | null, from?: Date, to?: Date, contexts?: string[]) => {
      const attempts = ledger.filter((item) => {
        const at = new Date(item.scannedAt)
        const isAsked = item.projectId === projectId && (!contexts || contexts.includes(results.get(item.id)!.context!))
        return item.result !== 'reversal' && isAsked && (!from || at >= from) && (!to || at <= to)
      })
      const counted = attempts.filter(({ id, result }) => result === 'accepted' && !reversed.has(id))
      const last = Math.max(...attempts.map(({ scannedAt }) => Date.parse(scannedAt)))
      return {
        redeemed: new Set(counted.map(({ passId }) => passId)).size,
        totalScans: attempts.length,
        totalDenied: attempts.filter(({ result }) => result === 'denied').length,
        lastScanAt: attempts.length === 0 ? null : new Date(last),
      }
    }
    for (const contexts of [undefined, ['2026-03-01'], ['2026-03-01', '2026-03-02']]) {
      for (const [from, to] of minutes.flatMap((one) =>
        minutes.map((other) => [dateOf(one), dateOf(other)] as const),
      )) {
        const scanned = { ...(from && { from }), ...(to && { to }) }
        const request = { scanned, scanContextKey: contexts }
        const figures = await api.services.store.scanStats.counts(workspace.id, request)
        for (const projectId of [ids.concert, ids.play, null]) {
          const expected = recount(projectId, from, to, contexts)
          expect(figures.get(projectId), JSON.stringify([request, projectId])).toMatchObject(expected)
          if (projectId === null) continue
          const alone = await api.services.store.scanStats.counts(workspace.id, { ...request, projectId: [projectId] })
          expect(alone.get(projectId)).toMatchObject(expected)
        }
      }
    }
  })

  test('figures of each project, and of scans without one', async () => {
    const { items } = (await stats({ groupBy: 'project' })) as { items: { projectId: string | null }[] }
    expect(await stats({ groupBy: ['project', 'project'] })).toEqual({ items })
    const by = new Map(items.map(({ projectId, ...figures }) => [projectId, figures]))
    // In the order of creation. Null sorts last.
    expect([...by.keys()]).toEqual([ids.concert, ids.play, null])
    for (const projectId of [ids.concert, ids.play]) expect(by.get(projectId)).toEqual(await stats({ projectId }))
    expect(by.get(null)).toMatchObject({ totalPasses: 1, redeemed: 1, totalScans: 3, totalDenied: 2 })
  })

  test('figures of each gate, in all and within a window, a project or a context', async () => {
    const byGate = (query: object = {}) => stats({ groupBy: 'gate', ...query })
    const at = (minute: number) => `2026-03-01T20:0${minute}:00.000Z`
    const north = { gate: 'North', totalScans: 2, totalDenied: 0, reversed: 1 }
    const south = { gate: 'Süd "1"', totalScans: 1, totalDenied: 1, reversed: 0 }
    // An empty gate counts as no gate.
    const none = { gate: null, totalScans: 7, totalDenied: 4, reversed: 0 }
    expect(await byGate()).toEqual({ items: [none, north, south] })
    expect(await byGate({ from: at(0) })).toEqual(await byGate())
    expect(await byGate({ from: at(1), to: at(4) })).toEqual({
      items: [
        { gate: null, totalScans: 1, totalDenied: 1, reversed: 0 },
        { ...north, totalScans: 1, reversed: 0 },
        south,
      ],
    })
    expect(await byGate({ projectId: ids.concert })).toMatchObject({
      items: [{ gate: null, totalScans: 2 }, north, south],
    })
    expect(await byGate({ scanContextKey: '2026-03-01' })).toMatchObject({
      items: [
        { gate: null, totalScans: 2 },
        { ...north, totalScans: 1 },
      ],
    })
    expect(await byGate({ templateId: ids.playTemplate, from: at(9) })).toEqual({ items: [] })
    const other = await api.workspace()
    expect(await other.ok(scans.stats, { query: { groupBy: 'gate' } })).toEqual({ items: [] })
    const both = { query: { groupBy: ['project', 'gate'] } } as never
    expect(await workspace.refused(scans.stats, both)).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
  })

  test('counts gates by their first 100 characters, and filters them within a project', async () => {
    const other = await api.workspace()
    const long = '🎪'.repeat(100)
    for (const gate of [`${long}1`, `${long}2`, '\\u0041"\n%_']) {
      await scan(other, { qrPayload: 'nobody', context: { gate } })
    }
    const items = [
      { gate: long, totalScans: 2 },
      { gate: '\\u0041"\n%_', totalScans: 1 },
    ]
    expect(await other.ok(scans.stats, { query: { groupBy: 'gate' } })).toMatchObject({ items })
  })

  test('figures over time match the ledger in each bucket, including empty ones', async () => {
    const byTime = async (query: object) =>
      ((await stats({ by: 'hour', ...query })) as { items: { at: string; totalScans: number; totalDenied: number }[] })
        .items
    const inBucket = (from: string, to: string, projectId?: string) => {
      const attempts = ledger.filter(
        (item) =>
          item.result !== 'reversal' &&
          item.scannedAt >= from &&
          item.scannedAt < to &&
          (!projectId || item.projectId === projectId),
      )
      return {
        at: from,
        totalScans: attempts.length,
        totalDenied: attempts.filter(({ result }) => result === 'denied').length,
      }
    }
    const hours = [18, 19, 20, 21].map((hour) => `2026-03-01T${hour}:00:00.000Z`)
    for (const projectId of [undefined, ids.concert]) {
      const items = await byTime({
        ...(projectId && { projectId }),
        from: '2026-03-01T18:30:00Z',
        to: '2026-03-01T21:00:00Z',
      })
      expect(items).toEqual([0, 1, 2].map((index) => inBucket(hours[index]!, hours[index + 1]!, projectId)))
    }
    // The end is exclusive and defaults to now. Days begin and end in the zone.
    expect(await byTime({ from: '2026-03-01T20:01:00Z', to: '2026-03-01T20:08:00Z' })).toEqual([
      { ...inBucket('2026-03-01T20:01:00.000Z', '2026-03-01T20:08:00.000Z'), at: hours[2] },
    ])
    const day = { by: 'day', scannedSince: '2026-02-28T00:00:00Z', zone: 'Pacific/Kiritimati' }
    expect(await byTime(day)).toEqual([
      inBucket('2026-02-27T10:00:00.000Z', '2026-02-28T10:00:00.000Z'),
      inBucket('2026-02-28T10:00:00.000Z', '2026-03-01T10:00:00.000Z'),
      inBucket('2026-03-01T10:00:00.000Z', '2026-03-02T10:00:00.000Z'),
    ])
    // No scan is lost between the buckets, in half-hour zones, in contexts, and over the whole evening.
    const evening = { from: '2026-03-01T19:45:00Z', to: '2026-03-01T21:00:00Z', zone: 'Asia/Kolkata' }
    const kolkata = await byTime({ ...evening, scanContextKey: '2026-03-01' })
    expect(kolkata.map(({ at, totalScans }) => [at.slice(11, 16), totalScans])).toEqual([
      ['19:30', 3],
      ['20:30', 0],
    ])
    // Filter by one gate, or by several.
    const atGate = await byTime({ ...evening, gate: 'North' })
    expect(atGate.map(({ totalScans }) => totalScans)).toEqual([2, 0])
    expect(await byTime({ ...evening, gate: ['North', 'Süd "1"'] })).toMatchObject([
      { totalScans: 3, totalDenied: 1 },
      {},
    ])
    expect(await byTime({ ...evening, gate: 'nowhere' })).toMatchObject([{ totalScans: 0 }, { totalScans: 0 }])
  })

  test.each([
    [{ by: 'hour' }, 'Is required if "by" is set'],
    [{ by: 'hour', from: '2026-03-01T00:00:00Z', groupBy: 'project' }, 'Give either "groupBy" or "by"'],
    [{ zone: 'Asia/Tokyo' }, 'Requires the parameter by'],
    [{ gate: 'North' }, 'Requires the parameter by'],
    [{ by: 'hour', from: '2026-03-01T00:00:00Z', zone: 'Mars' }, 'IANA'],
    [{ by: 'hour', from: '2026-03-02T00:00:00Z', to: '2026-03-02T00:00:00Z' }, 'Must be before "to"'],
    [{ by: 'hour', from: '2025-03-01T00:00:00Z' }, 'more than 1000 hours'],
  ])('figures over time reject %j', async (query, message) => {
    const refused = await workspace.refused(scans.stats, { query: query as never })
    expect(refused).toMatchObject({ errorCode: 'VALIDATION_ERROR', message: expect.stringContaining(message) })
  })

  test('rejects a context together with a range of contexts', async () => {
    const query = { scanContextKey: 'x', scanContextFrom: 'x' }
    expect(await workspace.refused(scans.stats, { query })).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
  })

  test('filters passes by admission, in any context or in one', async () => {
    const found = async (query: Record<string, unknown>) => {
      const { items } = await workspace.ok(passes.list, { query: query as never })
      return items.map(({ id }) => Object.entries(ids).find(([, known]) => known === id)![0]).sort()
    }
    expect(await found({ redeemed: true })).toEqual(['a', 'b', 'c', 'homeless'])
    expect(await found({ redeemed: false })).toEqual(['d'])
    expect(await found({ redeemed: true, redeemedContext: '2026-03-02' })).toEqual(['a'])
    expect(await found({ redeemed: true, redeemedContext: '2026-03-01' })).toEqual(['c'])
    expect(await found({ redeemed: false, redeemedContext: '2026-03-01' })).toEqual(['a', 'b', 'd', 'homeless'])
  })

  test('figures and ledger agree on the scans of a deleted project, whose passes belong to none', async () => {
    const other = await api.workspace()
    const project = await makeProject(other)
    const template = await publishedTemplate(other, { projectId: project.id, definition: scannable() })
    await makePass(other, template.id, { variables: { code: 'z' } })
    await api.runJobs()
    await scan(other, { qrPayload: 'z' })
    await other.ok(projects.delete, { params: { id: project.id } })
    const homeless = { totalPasses: 1, redeemed: 1, open: 0, totalScans: 0, lastScanAt: null }
    const left = { totalPasses: 0, redeemed: 0, open: 0, totalScans: 1, totalDenied: 0 }
    const query = { projectId: project.id }
    for (let jobs = 0; jobs < 2; jobs += 1) {
      const { total, items } = await other.ok(scans.list, { query })
      const lastScanAt = items[0]!.scannedAt
      expect(total).toBe(1)
      expect(await other.ok(scans.stats, { query })).toEqual({ ...left, lastScanAt })
      expect(await other.ok(scans.stats, {})).toMatchObject({ ...homeless, totalScans: 1, lastScanAt })
      expect(await other.ok(scans.stats, { query: { groupBy: 'project' } })).toMatchObject({
        items: [
          { projectId: project.id, ...left },
          { projectId: null, ...homeless },
        ],
      })
      await api.runJobs()
    }
  })
})

describe.each(dialects)('the door list on %s', (dialect) => {
  const api = useApi(dialect)

  test('lists expected holders: issued, valid that day, and not yet admitted', async () => {
    const workspace = await api.workspace()
    const window = (day: number) => ({
      start: `2026-03-0${day}T18:00:00+01:00`,
      end: `2026-03-0${day}T23:00:00+01:00`,
      maxUses: 1,
    })
    const template = await publishedTemplate(workspace, {
      definition: scannable({ windows: [window(1), window(2)] }),
    })
    const plain = await publishedTemplate(workspace, { definition: scannable() })
    for (const code of ['came', 'absent', 'void']) {
      await makePass(workspace, template.id, { externalPassId: code, variables: { code } })
    }
    await makePass(workspace, plain.id, { externalPassId: 'any day', variables: { code: 'any day' } })
    await api.runJobs()
    const void_ = await workspace.ok(passes.list, { query: { externalPassId: 'void' } })
    await workspace.ok(passes.void, { params: { id: void_.items[0]!.id } })
    const snapshot = async (day: string) => {
      const query = {
        status: 'ISSUED',
        validOn: day,
        redeemed: 'false',
        redeemedContext: day,
        sortBy: 'externalPassId',
        sortDir: 'asc',
      } as const
      return (await workspace.ok(passes.list, { query })).items.map(({ externalPassId }) => externalPassId)
    }
    expect(await snapshot('2026-03-01')).toEqual(['absent', 'any day', 'came'])
    const came = await scan(workspace, { qrPayload: 'came', scanContextKey: '2026-03-01', validityDate: '2026-03-01' })
    expect(came).toMatchObject({ result: 'accepted' })
    expect(await snapshot('2026-03-01')).toEqual(['absent', 'any day'])
    expect(await snapshot('2026-03-02')).toEqual(['absent', 'any day', 'came'])
    expect(await snapshot('2026-03-03')).toEqual(['any day'])
    await workspace.ok(scans.reverse, { params: { id: came.scan.id } })
    expect(await snapshot('2026-03-01')).toEqual(['absent', 'any day', 'came'])
  })
})
