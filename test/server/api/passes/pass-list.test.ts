import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'
import { changed, read } from './pass-changes.ts'
import { insertListed, makeTemplates, passFacts, type Template } from './pass-list-data.ts'

const { list } = contract.passes

type Query = Record<string, unknown>

const noted = (n: number) => `n-${String(n).padStart(2, '0')}`

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)
  let workspace: TestWorkspace
  let templates: Template[]

  beforeAll(async () => {
    workspace = await api.workspace()
    templates = await makeTemplates(workspace)
    const facts = fc.sample(passFacts(templates), 25)
    await insertListed(
      workspace,
      facts.map((pass, n) => ({ ...pass, externalPassId: noted(n), variables: { n: String(n) } })),
    )
  })

  const page = (query: Query = {}, from = workspace) => from.ok(list, { query: query as never })
  const refused = (query: Query) => workspace.refused(list, { query: query as never })
  const idsOf = ({ items }: { items: Pass[] }) => items.map(({ id }) => id)

  test('an empty workspace has an empty page', async () => {
    const empty = { items: [], total: 0, limit: 20, offset: 0, nextCursor: null, hasMore: false }
    expect(await page({}, await api.workspace())).toEqual(empty)
  })

  test('an item equals a read of the pass, with working links', async () => {
    const other = await api.workspace()
    const { id } = await issuedPass(other, { variables: { tier: 'Gold' } })
    const { items } = await page({}, other)
    expect(items).toEqual([await read(other, id)])
    expect((await api.send('GET', new URL(items[0]!.hostedLinks.apple!).pathname)).status).toBe(200)
  })

  test('lists the newest first, twenty per page, with a cursor to the next page', async () => {
    const first = await page()
    expect(first).toMatchObject({ total: 25, limit: 20, offset: 0, hasMore: true })
    const second = await page({ cursor: first.nextCursor })
    expect(second).toMatchObject({ total: 25, limit: 20, offset: 20, hasMore: false, nextCursor: null })
    const ids = [...idsOf(first), ...idsOf(second)]
    expect(ids).toEqual(ids.toSorted().reverse())
    expect(new Set(ids).size).toBe(25)
  })

  test('the last page has no next cursor, even if it is full', async () => {
    const first = await page({ limit: 24 })
    expect(await page({ limit: 1, cursor: first.nextCursor })).toMatchObject({ hasMore: false, nextCursor: null })
    expect(await page({ limit: 25 })).toMatchObject({ hasMore: false, nextCursor: null })
  })

  test('an offset skips rows, also under computed sorts, and returns a cursor', async () => {
    for (const sortBy of ['createdAt', 'label', 'templateName', 'templateVersion', 'revision']) {
      const all = idsOf(await page({ sortBy, limit: 100 }))
      const some = await page({ sortBy, limit: 5, offset: 3 })
      expect([idsOf(some), some.offset, some.total]).toEqual([all.slice(3, 8), 3, 25])
      const next = await page({ sortBy, limit: 100, cursor: some.nextCursor })
      expect([idsOf(next), next.offset]).toEqual([all.slice(8), 8])
    }
    const beyond = { items: [], total: 25, hasMore: false, nextCursor: null }
    expect(await page({ offset: Number.MAX_SAFE_INTEGER })).toMatchObject(beyond)
  })

  test('pagination keeps the total of its first page', async () => {
    const other = await api.workspace()
    const template = await publishedTemplate(other)
    for (let n = 0; n < 3; n += 1) await makePass(other, template.id)
    const first = await page({ limit: 1 }, other)
    await makePass(other, template.id)
    expect(await page({ limit: 1, cursor: first.nextCursor }, other)).toMatchObject({ total: 3, offset: 1 })
    expect(await page({ limit: 1 }, other)).toMatchObject({ total: 4 })
  })

  test('a cursor belongs to its sort, direction and filters; the page size may change', async () => {
    const query = { limit: 2, status: ['ISSUED', 'VOID', 'FAILED', 'QUEUED'] }
    const { nextCursor: cursor } = await page(query)
    expect((await page({ ...query, limit: 7, cursor })).limit).toBe(7)
    const others = [
      { ...query, sortBy: 'label' },
      { ...query, sortBy: 'templateName' },
      { ...query, sortDir: 'asc' },
      { limit: 2 },
      { ...query, status: ['ISSUED'] },
      { ...query, search: 'a' },
      { ...query, createdFrom: '2020-01-01T00:00Z' },
      { ...query, variable: 'n:1' },
    ]
    for (const other of others) {
      expect(await refused({ ...other, cursor }), JSON.stringify(other)).toMatchObject({
        status: 400,
        errorCode: 'VALIDATION_ERROR',
        details: { issues: [{ path: ['cursor'] }] },
      })
    }
    const computed = await page({ sortBy: 'revision', limit: 2 })
    expect(await refused({ sortBy: 'templateVersion', cursor: computed.nextCursor })).toMatchObject({ status: 400 })
    expect(await refused({ sortBy: 'revision', sortDir: 'asc', cursor: computed.nextCursor })).toMatchObject({
      status: 400,
    })
  })

  test('a cursor of another list or workspace leads nowhere else', async () => {
    const projects = await workspace.ok(contract.projects.list, { query: { limit: 1 } })
    expect(await refused({ cursor: projects.nextCursor })).toMatchObject({ status: 400 })
    const other = await api.workspace()
    const { nextCursor } = await page({ limit: 1, sortBy: 'label' })
    const answer = await other.call(list, { query: { sortBy: 'label', cursor: nextCursor! } })
    if (answer.status === 200) expect((answer.body as { items: unknown[] }).items).toEqual([])
    else expect(answer.status).toBe(400)
  })

  testOnce.each(['x', 'W10', '!', '😀', 'x'.repeat(512), ''])('rejects the cursor "%s"', async (cursor) => {
    expect(await refused({ cursor })).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
  })

  test('cursors are short for any sort value, and text sorts by code point', async () => {
    const other = await api.workspace()
    const made = await makeTemplates(other)
    const [sample] = fc.sample(passFacts(made), 1)
    const long = '😀'.repeat(254)
    const sorted = [
      'A',
      'Z',
      '_',
      'a',
      'aa',
      'b',
      'ß',
      'é',
      '中',
      '\ue000',
      '～',
      '😀',
      `${long}a`,
      `${long}b`,
      '\u{10ffff}',
    ]
    await insertListed(
      other,
      sorted
        .toReversed()
        .map((label, n) => ({ ...sample!, label, externalPassId: `${long}${n % 10}`.slice(n > 9 ? 2 : 0) })),
    )
    for (const sortBy of ['label', 'externalPassId']) {
      const shown: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const one = await page({ sortBy, sortDir: 'asc', limit: 1, ...(cursor && { cursor }) }, other)
        shown.push(one.items[0]![sortBy as 'label'])
        cursor = one.nextCursor
        expect((cursor ?? '').length).toBeLessThanOrEqual(512)
      }
      // Labels that share a prefix longer than a cursor are in the order of creation.
      if (sortBy === 'label') expect(shown).toEqual([...sorted.slice(0, -3), `${long}b`, `${long}a`, sorted.at(-1)])
      else expect(shown).toEqual(shown.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
      expect(shown).toHaveLength(sorted.length)
    }
  })

  test('a pass that never expires sorts after all others, and before them in the other direction', async () => {
    const other = await api.workspace()
    const made = await makeTemplates(other)
    const [sample] = fc.sample(passFacts(made), 1)
    const dates = [null, new Date('2030-01-01T00:00Z'), null, new Date('9999-12-31T23:59:59.999Z'), new Date(0)]
    await insertListed(
      other,
      dates.map((expiresAt, n) => ({ ...sample!, expiresAt, externalPassId: noted(n) })),
    )
    const asc = ['1970-01-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z', null, null]
    const shown = async (sortDir: string) =>
      (await page({ sortBy: 'expiresAt', sortDir }, other)).items.map(({ expiresAt }) => expiresAt)
    expect([await shown('asc'), await shown('desc')]).toEqual([asc, asc.toReversed()])
  })

  test('a pass past its expiry is filtered as EXPIRED and no longer as ISSUED, swept or not', async () => {
    const other = await api.workspace()
    const { id } = await issuedPass(other, { definition: definition({ expiresAt: '2026-03-01T12:00:00Z' }) })
    for (const sweep of [false, true]) {
      if (sweep) await api.services.store.transaction((tx) => tx.passes.expire(api.now, 1000))
      expect(idsOf(await page({ status: 'EXPIRED' }, other))).toEqual([id])
      expect(idsOf(await page({ status: 'ISSUED' }, other))).toEqual([])
      expect(idsOf(await page({ search: 'expire' }, other))).toEqual([id])
    }
  })

  test('filters follow an update: label, search, variables, windows', async () => {
    const other = await api.workspace()
    const content = definition({
      variables: [{ name: 'day', label: 'Day' }],
      design: { organizationName: 'O', description: 'D' },
      redemption: { windows: [{ start: '{{day}}T10:00Z' }] },
    })
    const { id } = await issuedPass(other, {
      definition: content,
      label: 'Ada',
      variables: { day: '2027-01-01', a: 1 },
    })
    const before = [
      { label: 'Ada' },
      { search: 'ada' },
      { variable: 'a:1' },
      { variable: 'day:2027-01-01' },
      { validOn: '2027-01-01' },
    ]
    const after = [
      { label: 'Grace' },
      { search: 'RACE' },
      { variable: 'b:2' },
      { variable: 'day:2027-02-02' },
      { validOn: '2027-02-02' },
    ]
    for (const query of before) expect(idsOf(await page(query, other)), JSON.stringify(query)).toEqual([id])
    for (const query of after) expect(idsOf(await page(query, other)), JSON.stringify(query)).toEqual([])
    await changed(other, id, { label: 'Grace', variables: { day: '2027-02-02', a: null, b: 2 } })
    for (const query of before) expect(idsOf(await page(query, other)), JSON.stringify(query)).toEqual([])
    for (const query of after) expect(idsOf(await page(query, other)), JSON.stringify(query)).toEqual([id])
  })

  test('the door list of a day contains issued passes, valid and not yet admitted that day', async () => {
    const other = await api.workspace()
    const made = await makeTemplates(other)
    const [sample] = fc.sample(passFacts(made), 1)
    const day = '2027-01-01'
    const open = {
      ...sample!,
      status: 'ISSUED' as const,
      expiresAt: null,
      scans: [] as string[],
      redemption: { windows: [{ start: `${day}T10:00Z` }] },
    }
    const passes = [
      open,
      { ...open, scans: ['2027-01-02'] },
      { ...open, scans: [day] },
      { ...open, status: 'VOID' as const },
      { ...open, redemption: { windows: [{ start: '2027-01-02T10:00Z' }] } },
      // In Tokyo, the event ends before the day begins in UTC.
      {
        ...open,
        expiresAt: new Date(`${day}T08:00:00+09:00`),
        redemption: { windows: [{ start: `${day}T06:00+09:00`, end: `${day}T08:00+09:00` }] },
      },
    ]
    const rows = await insertListed(
      other,
      passes.map((pass, n) => ({ ...pass, externalPassId: noted(n) })),
    )
    const query = { status: 'ISSUED', validOn: day, redeemed: false, redeemedContext: day }
    expect(idsOf(await page(query, other)).toSorted()).toEqual(
      [rows[0]!, rows[1]!, rows[5]!].map(({ id }) => id).toSorted(),
    )
  })
})
