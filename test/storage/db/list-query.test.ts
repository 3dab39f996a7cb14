import { describe, expect, test } from 'vitest'
import { type ListRequest, totalOf } from '../../../src/storage/db/list-query.ts'
import type { Store } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import { insertWorkspace, later, openTestStore, start } from '../fixtures.ts'

const byName: ListRequest = { limit: 3, sortBy: 'name', sortDir: 'asc' }

test.each([
  { page: { limit: 3, offset: 0, found: 0 }, counted: 24, total: 0 },
  { page: { limit: 3, offset: 0, found: 3 }, counted: 24, total: 3 },
  { page: { limit: 3, offset: 6, found: 2 }, counted: 3, total: 8 },
  { page: { limit: 3, offset: 6, found: 0 }, counted: 24, total: 6 },
  { page: { limit: 3, offset: 6, found: 0 }, counted: 4, total: 4 },
  { page: { limit: 3, offset: 6, found: 4 }, counted: 24, total: 24 },
  { page: { limit: 3, offset: 6, found: 4 }, counted: 2, total: 10 },
])('the total agrees with the page if rows change before the count: $page, $counted', async ({ page, ...expected }) => {
  expect(await totalOf(page, async () => expected.counted)).toBe(expected.total)
})

describe.each(dialects)('on %s', (dialect) => {
  test.each(['asc', 'desc'] as const)(
    'paginating %s shows every row once and in order, even if many share a sort key',
    async (sortDir) => {
      const { store, workspaceId } = await setUp()
      const names = ['b', 'a', 'c', 'b', 'b', 'a', 'b', 'b', 'b']
      const projects = await insertProjects(store, workspaceId, names)
      const expected = projects
        .map(({ name, id }) => `${name} ${id}`)
        .sort()
        .map((row) => row.slice(2))
      const walked = await walk(store, workspaceId, { ...byName, sortDir })
      expect(walked.map((page) => page.ids.length)).toEqual([3, 3, 3])
      expect(walked.flatMap((page) => page.ids)).toEqual(sortDir === 'asc' ? expected : expected.toReversed())
      expect(walked.map((page) => page.offset)).toEqual([0, 3, 6])
    },
  )

  test('rows inserted during pagination neither repeat nor hide others, and the total stays', async () => {
    const { store, workspaceId } = await setUp()
    const before = await insertProjects(store, workspaceId, ['b', 'd', 'f', 'h', 'j'])
    const first = await store.projects.list(workspaceId, { ...byName, limit: 2 })
    await insertProjects(store, workspaceId, ['a', 'c', 'g'])
    const second = await store.projects.list(workspaceId, { ...byName, limit: 2, cursor: first.nextCursor! })
    const third = await store.projects.list(workspaceId, { ...byName, limit: 99, cursor: second.nextCursor! })
    const pages = [first, second, third]
    const names = pages.flatMap((page) => page.rows.map((row) => row.name))
    expect(names).toEqual(['b', 'd', 'f', 'g', 'h', 'j'])
    expect(pages.map((page) => page.total)).toEqual(before.map(() => 5).slice(0, 3))
    expect(third).toMatchObject({ hasMore: false, nextCursor: null })
    expect((await store.projects.list(workspaceId, byName)).total).toBe(8)
  })

  test('a cursor works only for its list, sort, direction, and filters', async () => {
    const { store, workspaceId } = await setUp()
    await insertProjects(store, workspaceId, ['a', 'b', 'c', 'd'])
    const { nextCursor } = await store.projects.list(workspaceId, byName)
    const cursor = nextCursor!
    await expect(store.projects.list(workspaceId, { ...byName, limit: 100, cursor })).resolves.toMatchObject({
      offset: 3,
    })
    const foreign: ListRequest[] = [
      { ...byName, sortBy: 'createdAt', cursor },
      { ...byName, sortDir: 'desc', cursor },
      { ...byName, projectId: ['null'], cursor } as ListRequest,
    ]
    for (const request of foreign) await expectRefusal(store.projects.list(workspaceId, request), 'cursor')
    await expectRefusal(store.templates.list(workspaceId, { ...byName, cursor }), 'cursor')
    for (const malformed of ['', '!!', 'bm90IGpzb24', Buffer.from('[1,2,3]').toString('base64url')]) {
      await expectRefusal(store.projects.list(workspaceId, { ...byName, cursor: malformed }), 'cursor')
    }
    await expectRefusal(store.projects.list(workspaceId, { ...byName, cursor, offset: 1 }), 'offset')
    expect((await store.projects.list(workspaceId, { ...byName, cursor, offset: 0 })).offset).toBe(3)
  })

  test('a cursor stays short for any sorted text, and works although its row is gone', async () => {
    const { store, workspaceId } = await setUp()
    const long = '💺'.repeat(250)
    const projects = await insertProjects(store, workspaceId, [`${long}a`, `${long}b`, `${long}c`])
    const walked = await walk(store, workspaceId, { ...byName, limit: 1 })
    expect(walked.flatMap((page) => page.ids)).toEqual(projects.map(({ id }) => id))
    for (const { nextCursor } of walked) expect((nextCursor ?? '').length).toBeLessThanOrEqual(512)

    const { nextCursor } = await store.projects.list(workspaceId, { ...byName, limit: 1 })
    await store.transaction((tx) => tx.projects.delete(workspaceId, projects[0]!.id))
    const next = await store.projects.list(workspaceId, { ...byName, limit: 1, cursor: nextCursor! })
    expect(next.rows.map(({ id }) => id)).toEqual([projects[1]!.id])
  })

  test('an offset skips rows, and its page has a cursor to continue', async () => {
    const { store, workspaceId } = await setUp()
    await insertProjects(store, workspaceId, ['a', 'b', 'c', 'd', 'e'])
    const page = await store.projects.list(workspaceId, { ...byName, limit: 2, offset: 1 })
    expect(page.rows.map((row) => row.name)).toEqual(['b', 'c'])
    const next = await store.projects.list(workspaceId, { ...byName, cursor: page.nextCursor! })
    expect(next).toMatchObject({ offset: 3, total: 5, hasMore: false })
    expect(next.rows.map((row) => row.name)).toEqual(['d', 'e'])
  })

  test('text sorts by code point', async () => {
    const { store, workspaceId } = await setUp()
    // U+1F600 comes after U+FF5E, although its first UTF-16 unit is smaller.
    const sorted = ['A', 'Z', '_', 'a', 'aa', 'b', 'z', 'Ä', 'ß', 'é', 'я', '中', '～', '😀']
    await insertProjects(store, workspaceId, sorted.toReversed())
    const page = await store.projects.list(workspaceId, { ...byName, limit: 100 })
    expect(page.rows.map((row) => row.name)).toEqual(sorted)
  })

  async function setUp() {
    const { store } = await openTestStore(dialect)
    return { store, workspaceId: await insertWorkspace(store) }
  }
})

test('text sorts by code point on postgres, regardless of the locale of the database', async () => {
  const { database } = await openTestStore('postgres')
  const columns = await database
    .reader('information_schema.columns')
    .where({ table_schema: 'public', collation_name: 'C' })
    .select('table_name', 'column_name')
  const names = columns.map((column) => `${column.table_name}.${column.column_name}`)
  const sorted = ['projects.name', 'templates.name', 'passes.label', 'passes.external_pass_id']
  expect(names).toEqual(expect.arrayContaining(sorted))
})

async function insertProjects(store: Store, workspaceId: string, names: string[]) {
  return store.transaction(async (tx) => {
    const projects = []
    for (const [index, name] of names.entries()) {
      projects.push(
        await tx.projects.insert(workspaceId, { name, description: '', color: 'gray' }, later(index, start)),
      )
    }
    return projects
  })
}

async function walk(store: Store, workspaceId: string, request: ListRequest) {
  const pages = []
  let cursor: string | null | undefined
  do {
    const page = await store.projects.list(workspaceId, { ...request, ...(cursor && { cursor }) })
    pages.push({ ids: page.rows.map((row) => row.id), offset: page.offset, nextCursor: page.nextCursor })
    cursor = page.nextCursor
  } while (cursor)
  return pages
}

async function expectRefusal(attempt: Promise<unknown>, parameter: string): Promise<void> {
  await expect(attempt).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { issues: [{ path: [parameter] }] },
  })
}
