import { describe, expect, test } from 'vitest'
import { tripsOf } from '../../../../bench/support/trips.ts'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { Pass } from '../../../../src/core/contract/passes.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { passBody, publishedTemplate } from '../../fixtures.ts'
import { scan, scannable } from './scan-support.ts'

const { passes, scans } = contract

describe.each(dialects)('the group of a scanned pass, on %s', (dialect) => {
  const api = useApi(dialect)

  /** Creates the passes of a group, in the order of their IDs. */
  async function group(workspace: TestWorkspace, groupKey: string | null, size: number): Promise<Pass[]> {
    const { id } = await publishedTemplate(workspace, { definition: scannable() })
    const bodies = Array.from({ length: size }, () => ({ ...passBody(id, { variables: { code: 'x' } }), groupKey }))
    const made: Pass[] = []
    for (let first = 0; first < size; first += 100) {
      const { results } = await workspace.ok(passes.createBatch, { body: { passes: bodies.slice(first, first + 100) } })
      made.push(...results.map(({ pass }) => pass!))
    }
    return made.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }
  const named = (members: Pass[]) =>
    members.map(({ id: passId, externalPassId, label }) => ({ passId, externalPassId, label }))

  test('every response has the admitted count, the size, and the remaining group in this context', async () => {
    const workspace = await api.workspace()
    const [a, b, c, d, e] = (await group(workspace, 'order', 5)) as [Pass, Pass, Pass, Pass, Pass]
    const [lone] = await group(workspace, null, 1)
    await group(workspace, 'other order', 1)
    await group(await api.workspace(), 'order', 2)
    await api.runJobs()
    const seen = async (body: object) => (await scan(workspace, body)).pass!.group

    expect((await scan(workspace, { passId: lone!.id })).pass).not.toHaveProperty('group')
    const first = { size: 5, used: 1, open: named([b, c, d, e]) }
    expect(await seen({ passId: a.id, externalRef: 'one' })).toEqual(first)
    expect(await seen({ passId: a.id, externalRef: 'one' })).toEqual(first)
    expect(await seen({ passId: a.id })).toEqual(first)
    expect(await seen({ passId: b.id, scanContextKey: 'day-2' })).toEqual({ ...first, open: named([a, c, d, e]) })

    const { scan: taken } = await scan(workspace, { passId: b.id })
    for (const { id } of [b, c]) await workspace.ok(passes.void, { params: { id }, body: {} })
    // A void pass counts only if it was admitted before.
    expect(await seen({ passId: d.id })).toEqual({ size: 4, used: 3, open: named([e]) })
    expect(await seen({ passId: c.id })).toEqual({ size: 4, used: 3, open: named([e]) })
    const reversed = await workspace.ok(scans.reverse, { params: { id: taken.id }, body: {} })
    expect(reversed.pass!.group).toEqual({ size: 3, used: 2, open: named([e]) })
    await workspace.ok(passes.update, { params: { id: e.id }, body: { groupKey: null } })
    expect(await seen({ passId: a.id })).toEqual({ size: 2, used: 2, open: [] })
  })

  test('uses one statement for all scans of a set, and marks groups above 100 passes as incomplete', async () => {
    const workspace = await api.workspace()
    const many = await group(workspace, 'club', 101)
    await scan(workspace, { passId: many[0]!.id })
    const seen = await scan(workspace, { passId: many[100]!.id })
    // Queued passes are not admitted yet, but can be later, so they count as open.
    expect(seen.pass!.group).toEqual({ size: 100, used: 0, open: named(many.slice(0, 20)), hasMore: true })
    const [lone] = await group(workspace, null, 1)
    await scan(workspace, { passId: lone!.id })
    const alone = await tripsOf(() => scan(workspace, { passId: lone!.id }))
    expect(await tripsOf(() => scan(workspace, { passId: many[1]!.id }))).toHaveLength(alone.length + 1)
    const trips = await tripsOf(() => Promise.all(many.slice(0, 20).map(({ id }) => scan(workspace, { passId: id }))))
    const statements = trips.flat()
    const sets = statements.filter((sql) => /^begin/i.test(sql))
    expect(statements.filter((sql) => sql.includes('group_id = given.group_id')).length).toBeLessThanOrEqual(
      sets.length,
    )
  })
})
