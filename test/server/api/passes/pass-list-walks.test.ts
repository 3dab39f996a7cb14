import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import {
  deletePasses,
  insertListed,
  type ListedPass,
  labels,
  makeTemplates,
  passFacts,
  uniquePrefix,
} from './pass-list-data.ts'
import { sortKey, sortPasses } from './pass-list-reference.ts'

const { list } = contract.passes

/** Sorts by a column. Other sorts use an offset, which is stable only without writes in between. */
const rowSorts = ['createdAt', 'updatedAt', 'label', 'externalPassId', 'status', 'expiresAt'] as const
const sorts = rowSorts.flatMap((sortBy) => (['asc', 'desc'] as const).map((sortDir) => ({ sortBy, sortDir })))

/** Writes of another client between two pages: it creates passes and changes existing ones. */
const writes = fc.record({
  inserted: fc.nat(2),
  changed: fc.array(
    fc.record({
      index: fc.nat(),
      change: fc.record(
        {
          label: fc.constantFrom(...labels),
          status: fc.constantFrom('ISSUED' as const, 'VOID' as const, 'FAILED' as const),
          expiresAt: fc.constantFrom(null, new Date('2026-03-01T00:00Z'), new Date('2030-01-01T00:00Z')),
          updatedAt: fc.constant(new Date('2026-03-01T12:00:00Z')),
        },
        { requiredKeys: ['updatedAt'] },
      ),
    }),
    { maxLength: 3 },
  ),
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test.each(sorts)(
    'paginating by $sortBy $sortDir during writes returns rows that exist throughout once and in order',
    async ({ sortBy, sortDir }) => {
      const workspace = await api.workspace()
      const templates = await makeTemplates(workspace)
      const facts = passFacts(templates)
      const given = fc.array(facts, { minLength: 1, maxLength: 16 })
      const between = fc.array(writes, { minLength: 1, maxLength: 5 })
      await fc.assert(
        fc.asyncProperty(
          given,
          between,
          facts,
          fc.integer({ min: 1, max: 5 }),
          async (before, script, fresh, limit) => {
            const prefix = uniquePrefix()
            const named = before.map((pass, n) => ({
              ...pass,
              externalPassId: `${prefix}-${n % 4}-${n}`,
            }))
            await deletePasses(workspace)
            const passes = await insertListed(workspace, named)
            const steady = new Set(passes.map(({ id }) => id))
            const shown: string[] = []
            let cursor: string | null | undefined
            for (let page = 0; cursor !== null; page += 1) {
              const query = { sortBy, sortDir, limit, ...(cursor && { cursor }) }
              const answer = await workspace.ok(list, { query })
              shown.push(...answer.items.map(({ id }) => id))
              expect(answer.hasMore).toBe(answer.nextCursor !== null)
              expect(answer.total).toBe(passes.length)
              cursor = answer.nextCursor
              const { inserted, changed } = script[page] ?? { inserted: 0, changed: [] }
              for (const { index, change } of changed) {
                const pass = passes[index % passes.length]!
                await write(pass, change)
                if (sortKey({ ...pass, ...change }, sortBy) !== sortKey(pass, sortBy)) steady.delete(pass.id)
              }
              const others = Array.from({ length: inserted }, () => ({
                ...fresh,
                externalPassId: `${prefix}-${uniquePrefix()}`,
              }))
              await insertListed(workspace, others)
            }
            const expected = sortPasses(passes, sortBy, sortDir).filter(({ id }) => steady.has(id))
            expect(shown.filter((id) => steady.has(id))).toEqual(expected.map(({ id }) => id))
          },
        ),
        { numRuns: times(3, 15) },
      )
    },
  )

  test('pagination continues although the label of the last row, too long for a cursor, changed', async () => {
    const workspace = await api.workspace()
    const templates = await makeTemplates(workspace)
    const [sample] = fc.sample(passFacts(templates), 1)
    const named = ['a', 'b', 'c'].map((end) => ({
      ...sample!,
      label: `${'😀'.repeat(254)}${end}`,
      externalPassId: end,
    }))
    const [first] = await insertListed(workspace, named)
    const query = { sortBy: 'label', sortDir: 'asc', limit: 1 } as const
    const page = await workspace.ok(list, { query })
    expect(page.items[0]!.label).toBe(first!.label)
    const next = { ...query, cursor: page.nextCursor! }
    expect((await workspace.ok(list, { query: next })).items[0]!.externalPassId).toBe('b')
    await write(first!, { label: `${'😀'.repeat(254)}z` })
    expect((await workspace.ok(list, { query: next })).items[0]!.externalPassId).toBe('b')
  })

  /** Changes a row like a concurrent request. */
  async function write({ id }: ListedPass, change: Partial<ListedPass>): Promise<void> {
    const { label, status, expiresAt, updatedAt } = change
    await api.database
      .writer('passes')
      .where({ id })
      .update({
        ...(label !== undefined && { label, label_folded: label.toLowerCase() }),
        ...(status && { status }),
        ...(expiresAt !== undefined && { expires_at: expiresAt?.getTime() ?? null }),
        ...(updatedAt && { updated_at: updatedAt.getTime() }),
      })
  }
})
