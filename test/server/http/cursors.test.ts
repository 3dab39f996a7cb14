import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Page } from '../../../src/core/contract/schemas/common.ts'
import type { Route, RouteCall } from '../../../src/core/route.ts'
import { encodeCursor, fingerprint, sealCursor } from '../../../src/core/rules/lists/cursor.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { dialects } from '../../support/databases.ts'
import { makePass, makeProject, publishedTemplate } from '../fixtures.ts'

const lists = allRoutes.filter(({ route }) => 'cursor' in shapeOf(route))

/** Lists with each of their sorts, since each has separate cursors. */
const walks = lists.flatMap(({ name, route }) => {
  const sorts = (shapeOf(route).sortBy as { def: { innerType: { options: string[] } } } | undefined)?.def.innerType
  return (sorts?.options ?? [undefined]).map((sortBy) => ({ name, route, sortBy }))
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let own: TestWorkspace
  let other: TestWorkspace
  let params: { id: string }

  beforeAll(async () => {
    own = await api.workspace()
    other = await api.workspace()
    for (const workspace of [own, other]) {
      const project = await makeProject(workspace)
      await makeProject(workspace)
      const template = await publishedTemplate(workspace, { projectId: project.id })
      await publishedTemplate(workspace)
      for (let n = 0; n < 3; n += 1) await makePass(workspace, template.id)
      if (workspace === own) params = { id: project.id }
    }
  })

  const ask = (workspace: TestWorkspace, { route, sortBy }: Walk, query: object = {}) =>
    workspace.call(route, { params, query: { limit: 1, ...(sortBy && { sortBy }), ...query } } as RouteCall<Route>)

  test('a forged, altered, or mismatched cursor is the same 400 in every list', async () => {
    const real: { walk: Walk; cursor: string }[] = []
    for (const walk of walks) {
      const first = await ask(own, walk)
      if (first.status === 200 && (first.body as Page<unknown>).nextCursor) {
        const { nextCursor } = first.body as Page<unknown>
        expect((await ask(own, walk, { cursor: nextCursor })).status, walk.name).toBe(200)
        real.push({ walk, cursor: nextCursor! })
      }
    }
    // Lists projects, templates, passes, and the snapshot, with each sort.
    expect(real.length).toBeGreaterThanOrEqual(16)
    let forged = 0
    for (const walk of walks) {
      const genuine = (await ask(own, walk)).body as Partial<Page<unknown>>
      const foreign = (await ask(other, walk)).body as Partial<Page<unknown>>
      const attempts = new Set([
        ...madeUp(walk),
        ...real.filter((one) => one.walk !== walk).map(({ cursor }) => cursor),
        ...(foreign.nextCursor ? [foreign.nextCursor] : []),
        ...(genuine.nextCursor ? altered(genuine.nextCursor) : []),
      ])
      for (const cursor of attempts) {
        const answer = await ask(own, walk, { cursor })
        expect(answer.status, `${walk.name} by ${walk.sortBy}: ${cursor}`).toBe(400)
        expect(answer.body).toMatchObject({
          errorCode: 'VALIDATION_ERROR',
          details: { issues: [{ path: ['cursor'] }] },
        })
        forged += 1
      }
    }
    expect(forged).toBeGreaterThanOrEqual(480)
  })

  test('pagination stays exact although the row at its boundary is renamed or deleted, with long names', async () => {
    const workspace = await api.workspace()
    const { list } = contract.projects
    const long = '𝒜'.repeat(254)
    // Names that share a prefix longer than a cursor are in the order of creation.
    const names = ['b', 'c', 'a', 'd', 'e'].map((end) => long + end)
    const made: string[] = []
    for (const name of [...names, 'Alone', '𝒵']) {
      made.push((await makeProject(workspace, name)).id)
      api.advance(1)
    }
    const query = { sortBy: 'name', sortDir: 'asc', limit: 1 } as const
    const shown: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await workspace.ok(list, { query: { ...query, ...(cursor && { cursor }) } })
      const { id } = page.items[0]!
      shown.push(id)
      cursor = page.nextCursor
      expect((cursor ?? '').length).toBeLessThanOrEqual(512)
      if (shown.length % 2 === 0) await workspace.call(contract.projects.delete, { params: { id } })
      else await workspace.ok(contract.projects.update, { params: { id }, body: { name: 'A' } })
    }
    expect(shown).toEqual([made[5], ...made.slice(0, 5), made[6]])
  })
})

type Walk = (typeof walks)[number]

function shapeOf({ query }: Route): Record<string, unknown> {
  return (query as { shape?: Record<string, unknown> } | undefined)?.shape ?? {}
}

/**
 * Returns cursors as an attacker could write them who has seen real ones: in the old format without a seal, without a
 * seal, and sealed with another key.
 */
function madeUp({ sortBy = 'createdAt' }: Walk): string[] {
  const id = '019f1d8c-e5e8-7000-8025-f33068c84a16'
  const keys = ['text', 'a\0b', '\ud800', '', 7, -1, 0.5, 2 ** 53, null, {}, [], true, id, 'x'.repeat(200)]
  const plain = keys.map((key) => ['walk', 1, 1, id, key])
  const walk = fingerprint(['passes', sortBy, 'desc', []])
  const typed = (['text', 7, null] as const).map((key) => encodeCursor({ total: 1, offset: 1, id, key }, walk))
  return [
    ...plain.map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url')),
    ...typed,
    ...typed.map((text) => sealCursor(text, ['workspace'], Buffer.alloc(32))),
    '!',
    'null',
    '😀',
    'A'.repeat(512),
  ]
}

function altered(cursor: string): string[] {
  const places = [0, 23, 24, 40, 60, cursor.length - 1]
  return [
    ...places.map((at) => cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)),
    cursor.slice(24),
    cursor.slice(0, 24),
    cursor.slice(0, -1),
    `${cursor}A`,
  ]
}
