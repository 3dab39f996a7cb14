import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { makeProject, makeTemplate } from '../fixtures.ts'

const { list } = contract.projects

/** Names in the order of code points. Equal names are in the order of their IDs. */
const names = [
  'Zebra',
  'apple',
  'zebra',
  'Äpfel',
  'apple',
  'Omega',
  'ωmega',
  '中文',
  '😀',
  'x'.repeat(255),
  'é'.repeat(255),
]

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
    for (const name of names) {
      await makeProject(workspace, name)
      api.advance(1)
    }
  })

  const page = (query: Record<string, string | number> = {}) => workspace.ok(list, { query: query as never })
  const refused = (query: Record<string, string | number>) => workspace.refused(list, { query: query as never })

  /** Returns every page of a list, so that a test can check the counts and cursors of each page. */
  async function walk(query: Record<string, string | number>) {
    const pages = [await page(query)]
    while (pages.at(-1)!.nextCursor) pages.push(await page({ ...query, cursor: pages.at(-1)!.nextCursor! }))
    return pages
  }

  test('lists the newest first, twenty per page, in the common envelope', async () => {
    const answer = await page()
    expect(answer.items.map(({ name }) => name)).toEqual([...names].reverse())
    expect(answer).toMatchObject({ total: names.length, limit: 20, offset: 0, nextCursor: null, hasMore: false })
    expect(contract.projects.list.query.parse({})).toEqual({ limit: 20, sortBy: 'createdAt', sortDir: 'desc' })
  })

  const sorts = ['createdAt', 'updatedAt', 'name'].flatMap((sortBy) =>
    ['asc', 'desc'].map((sortDir) => ({ sortBy, sortDir })),
  )
  test.each(sorts)(
    'paginating by $sortBy $sortDir returns each row once and in order, for any page size',
    async (sort) => {
      const all = (await page({ ...sort, limit: 100 })).items
      const keyOf = (item: (typeof all)[number]) => Buffer.from(`${item[sort.sortBy as 'name']}\0${item.id}`)
      const sorted = [...all].sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)))
      expect(all).toEqual(sort.sortDir === 'asc' ? sorted : sorted.reverse())
      for (const limit of [1, 3, names.length]) {
        const pages = await walk({ ...sort, limit })
        expect(pages.flatMap(({ items }) => items)).toEqual(all)
        expect(pages.map(({ offset }) => offset)).toEqual(pages.map((_, index) => index * limit))
        expect(pages.map(({ hasMore }) => hasMore)).toEqual(pages.map((_, index) => index < pages.length - 1))
      }
    },
  )

  test('one bad value is one issue', async () => {
    for (const [name, value] of Object.entries({ offset: '9007199254740992', limit: '101', sortDir: '-1' })) {
      expect((await refused({ [name]: value })).details).toMatchObject({ issues: [{ path: [name] }] })
    }
  })

  test('a cursor of long names stays within 512 characters and resumes where it stopped', async () => {
    const pages = await walk({ sortBy: 'name', limit: 1 })
    for (const { nextCursor } of pages.slice(0, -1)) expect(nextCursor!.length).toBeLessThanOrEqual(512)
  })

  test('pagination keeps the total of its first page, and repeats no row when rows are added', async () => {
    const other = await api.workspace()
    for (const name of ['a', 'b', 'c']) await makeProject(other, name)
    const first = await other.ok(list, { query: { limit: 2 } })
    await makeProject(other, 'd')
    const second = await other.ok(list, { query: { limit: 2, cursor: first.nextCursor! } })
    expect(second).toMatchObject({ total: 3, offset: 2, hasMore: false })
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['c', 'b', 'a'])
    expect(await other.ok(list, { query: { limit: 2 } })).toMatchObject({ total: 4 })
  })

  test('a cursor of a deleted row resumes after its position', async () => {
    const other = await api.workspace()
    for (const name of ['a', 'b', 'c']) await makeProject(other, name)
    const query = { limit: 1, sortBy: 'name', sortDir: 'asc' } as const
    const first = await other.ok(list, { query })
    await other.ok(contract.projects.delete, { params: { id: first.items[0]!.id } })
    const second = await other.ok(list, { query: { ...query, cursor: first.nextCursor! } })
    expect(second.items.map(({ name }) => name)).toEqual(['b'])
  })

  test('a cursor belongs to its sort, list and filters; only the page size may change', async () => {
    const cursor = (await page({ limit: 2 })).nextCursor!
    expect((await page({ limit: 5, cursor })).items).toHaveLength(5)
    const foreign = [
      await refused({ cursor, sortBy: 'name' }),
      await refused({ cursor, sortDir: 'asc' }),
      await workspace.refused(contract.templates.list, { query: { cursor } }),
    ]
    for (const rejection of foreign) expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    await makeTemplate(workspace)
    await makeTemplate(workspace)
    const filtered = await workspace.ok(contract.templates.list, { query: { limit: 1, projectId: 'null' } })
    const without = await workspace.refused(contract.templates.list, { query: { cursor: filtered.nextCursor! } })
    expect(without.errorCode).toBe('VALIDATION_ERROR')
  })

  test('a cursor of another workspace reveals nothing', async () => {
    const other = await api.workspace()
    for (const name of ['a', 'b']) await makeProject(other, name)
    const query = { limit: 1, sortBy: 'name', sortDir: 'asc' } as const
    const cursor = (await workspace.ok(list, { query })).nextCursor!
    const answer = await other.call(list, { query: { ...query, cursor } })
    expect(answer.text).not.toContain('Zebra')
  })

  test.each([
    { limit: 0 },
    { limit: 101 },
    { limit: '1.5' },
    { limit: '' },
    { limit: 'ten' },
    { offset: -1 },
    { offset: '9007199254740992' },
    { sortBy: 'color' },
    { sortBy: '' },
    { sortDir: 'up' },
    { cursor: '' },
    { cursor: 'garbage' },
    { cursor: 'x'.repeat(513) },
    { search: 'x' },
  ])('rejects %j', async (query) => {
    expect(await refused(query as never)).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
  })

  test('rejects a repeated parameter that accepts one value', async () => {
    const answer = await workspace.send('GET', '/v1/projects?limit=1&limit=2')
    expect(answer.status).toBe(400)
  })

  test('an offset skips rows, shows its position, and leads to a cursor', async () => {
    const all = (await page({ limit: 100 })).items
    const answer = await page({ offset: 4, limit: 3 })
    expect(answer).toMatchObject({ items: all.slice(4, 7), offset: 4, total: names.length, hasMore: true })
    const next = await page({ cursor: answer.nextCursor!, limit: 100 })
    expect(next).toMatchObject({ items: all.slice(7), offset: 7, hasMore: false, nextCursor: null })
    expect(await page({ offset: 9_007_199_254_740_991 })).toMatchObject({
      items: [],
      hasMore: false,
      total: names.length,
    })
    expect(await refused({ offset: 1, cursor: answer.nextCursor! })).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
  })

  test('filters templates by project, by no project, and by several projects', async () => {
    const other = await api.workspace()
    const [one, two] = [await makeProject(other, 'one'), await makeProject(other, 'two')]
    await makeTemplate(other, { name: 'in one', projectId: one.id })
    await makeTemplate(other, { name: 'in two', projectId: two.id })
    await makeTemplate(other, { name: 'in none' })
    const found = async (projectId?: string | string[]) => {
      const { items, total } = await other.ok(contract.templates.list, {
        query: { sortBy: 'name', sortDir: 'asc', ...(projectId && { projectId }) },
      })
      expect(total).toBe(items.length)
      return items.map(({ name }) => name)
    }
    expect(await found()).toEqual(['in none', 'in one', 'in two'])
    expect(await found(one.id)).toEqual(['in one'])
    expect(await found('null')).toEqual(['in none'])
    expect(await found([two.id, 'null'])).toEqual(['in none', 'in two'])
    expect(await other.refused(contract.templates.list, { query: { projectId: 'none' } })).toMatchObject({
      status: 400,
    })
  })
})
