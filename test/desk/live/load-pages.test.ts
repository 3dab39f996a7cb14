import { expect, test } from 'vitest'
import { listAll } from '../../../src/desk/live/desk-api.ts'

/** Returns a list of the given number of items. */
function listOf(total: number) {
  const asked: (string | undefined)[] = []
  const list = async ({ query: { limit = 0, cursor } }: { query: { limit?: number; cursor?: string } }) => {
    asked.push(cursor)
    const start = Number(cursor ?? 0)
    const items = Array.from({ length: Math.min(limit, total - start) }, (_, n) => start + n)
    const end = start + items.length
    return { items, total, nextCursor: end < total ? String(end) : null }
  }
  return { asked, list }
}

test('reads all pages of a list, in order', async () => {
  const { asked, list } = listOf(201)
  const { items, total } = await listAll(list, {})
  expect([items.length, items.at(-1), total, asked]).toEqual([201, 200, 201, [undefined, '100', '200']])
})

test('a longer list shows its first thousand', async () => {
  const { asked, list } = listOf(1_234)
  const { items, total } = await listAll(list, {})
  expect([items.length, total, asked.length]).toEqual([1_000, 1_234, 10])
})
