import { eachPage } from '../../client/paginate.ts'
import type { Page } from '../../core/contract/common.ts'

/** The maximum page size of the API. */
const PAGE = 100

/** The maximum number of items, since loading more would take too long. */
const MOST = 1000

/** Lists all items, page by page, or the first 1,000, with the total. */
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
