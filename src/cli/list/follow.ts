import { setTimeout as sleep } from 'node:timers/promises'
import { eachPage } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/errors.ts'
import type { Page } from '../../core/contract/common.ts'

/** The list that `--follow` watches. */
export interface FollowOptions<T> {
  /** A page of the list, newest first. */
  list: (call: { query: { limit: number; cursor?: string } }) => Promise<Page<T>>
  /** Rows to show of those that are there. */
  limit: number | undefined
  /** When the server wrote a row down, which need not be what the list is sorted by. */
  writtenAt: (item: T) => string
  stop: AbortSignal
  note: (message: string) => void
  wait?: () => Promise<unknown>
}

const POLL_MS = 1_000
const PAGE = 100
const SHOWN = 10
/** Transactions end in another order than they began: so much older than the newest a row may be, and still be new. */
const OVERLAP_MS = 60_000
/** Ids that are remembered, so that no row comes twice. */
const REMEMBERED = 100_000

/**
 * The newest rows, and then every one that comes, oldest first. Rows that belong further down, such as scans that were
 * made without a network, are found because the total tells how many there are: as many pages are read as it takes.
 */
export async function* followPages<T extends { id: string }>(options: FollowOptions<T>): AsyncGenerator<Page<T>> {
  const { list, limit = SHOWN, writtenAt, stop, note } = options
  const wait = options.wait ?? (() => sleep(POLL_MS, undefined, { signal: stop }))
  const seen = new Set<string>()
  let newest = ''
  let total = 0
  let isAway = false

  function remember(items: readonly T[]): void {
    for (const item of items) {
      seen.add(item.id)
      if (writtenAt(item) > newest) newest = writtenAt(item)
    }
    for (const id of seen) {
      if (seen.size <= REMEMBERED) break
      seen.delete(id)
    }
  }

  async function poll(): Promise<Page<T>> {
    const horizon = newest && new Date(Date.parse(newest) - OVERLAP_MS).toISOString()
    const found: T[] = []
    let now = total
    for await (const page of eachPage(list, { limit: PAGE })) {
      // The cursor keeps it as it was at the first page.
      now = page.total
      found.push(...page.items.filter((item) => !seen.has(item.id) && writtenAt(item) > horizon))
      if (found.length >= now - total) break
    }
    // A page may show a row again that another pushed down meanwhile.
    const items = [...new Map(found.map((item) => [item.id, item])).values()].reverse()
    remember(items)
    total = now
    return pageOf(items)
  }

  const first = await list({ query: { limit: PAGE } })
  remember(first.items.toReversed())
  total = first.total
  yield pageOf(first.items.slice(0, limit).reverse())
  note('Waiting for what comes; Ctrl-C ends it.')
  while (!stop.aborted) {
    try {
      await wait()
      const page = await poll()
      if (isAway) note('The server is back')
      isAway = false
      if (page.items.length > 0) yield page
    } catch (error) {
      if (stop.aborted) return
      if (!mayComeBack(error)) throw error
      if (!isAway) note(`${error.message}; waiting for it`)
      isAway = true
    }
  }
}

/** Whether the server may come back by itself. */
function mayComeBack(error: unknown): error is Error {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500)
}

function pageOf<T>(items: T[]): Page<T> {
  return { items, total: items.length, limit: PAGE, offset: 0, nextCursor: null, hasMore: false }
}
