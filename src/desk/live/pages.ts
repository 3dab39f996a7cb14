import { eachPage } from '../../client/pages.ts'
import type { Page } from '../../core/contract/common.ts'

/** As many as one answer brings. */
const PAGE = 100

/** Beyond so many the page would ask for longer than somebody looks. */
const MOST = 1000

/** All items of a list, page by page, or its first 1,000, with the number of all. */
export async function listAll<T, Q extends object>(
  list: (call: {
    query: Q & { cursor?: string; limit?: number }
  }) => Promise<Pick<Page<T>, 'items' | 'total' | 'nextCursor'>>,
  query: Q,
): Promise<Pick<Page<T>, 'items' | 'total'>> {
  const all: Pick<Page<T>, 'items' | 'total'> = { items: [], total: 0 }
  for await (const { items, total } of eachPage(list, { limit: PAGE, ...query })) {
    all.items.push(...items)
    all.total = total
    if (all.items.length >= MOST) break
  }
  return all
}
