import type { Page } from '../../core/contract/common.ts'

/** As many as one answer brings. */
const PAGE = 100

/** Beyond so many the page would ask for longer than somebody looks. */
const MOST = 1000

/** All items of a list, page by page, or its first 1,000, with the number of all. */
export async function listAll<T>(
  readPage: (query: { limit: number; cursor?: string }) => Promise<Pick<Page<T>, 'items' | 'total' | 'nextCursor'>>,
): Promise<Pick<Page<T>, 'items' | 'total'>> {
  let { items, total, nextCursor } = await readPage({ limit: PAGE })
  while (nextCursor !== null && items.length < MOST) {
    const next = await readPage({ limit: PAGE, cursor: nextCursor })
    items = [...items, ...next.items]
    nextCursor = next.nextCursor
  }
  return { items, total }
}
