import { setTimeout as sleep } from 'node:timers/promises'
import { eachPage } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/client-errors.ts'
import type { Page } from '../../core/contract/schemas/common.ts'

export interface FollowOptions<T> {
  /** Returns a page of the list, newest first. */
  list: (call: { query: { limit: number; cursor?: string } }) => Promise<Page<T>>
  /** The maximum number of existing rows to show before new rows; 10 by default. */
  limit: number | undefined
  /** Returns the time at which the server wrote a row, which can differ from the sort key. */
  writtenAt: (item: T) => string
  stop: AbortSignal
  note: (message: string) => void
  wait?: () => Promise<unknown>
}

const POLL_MS = 1_000
const PAGE = 100
const SHOWN = 10
/** The maximum time by which a new row can be older than the newest row: transactions commit out of order. */
const OVERLAP_MS = 60_000
/** The maximum number of remembered ids, which prevent duplicates. */
const MAX_SEEN = 100_000

/**
 * Yields the newest rows, then each new row, oldest first. A new row, such as a scan that was made offline, can be on a
 * later page. Therefore, a poll reads pages until it has found as many new rows as were added to the total.
 */
export async function* followPages<T extends { id: string }>(options: FollowOptions<T>): AsyncGenerator<Page<T>> {
  const { list, limit = SHOWN, writtenAt, stop, note } = options
  const wait = options.wait ?? (() => sleep(POLL_MS, undefined, { signal: stop }))
  const seen = new Set<string>()
  let newest = ''
  let total = 0

  function addSeen(items: readonly T[]): void {
    for (const item of items) {
      seen.add(item.id)
      if (writtenAt(item) > newest) newest = writtenAt(item)
    }
    for (const id of seen) {
      if (seen.size <= MAX_SEEN) break
      seen.delete(id)
    }
  }

  async function readNew(): Promise<Page<T>> {
    const horizon = newest && new Date(Date.parse(newest) - OVERLAP_MS).toISOString()
    const found: T[] = []
    let now = total
    for await (const page of eachPage(list, { limit: PAGE })) {
      // Every page has the total of the first page, because the cursor keeps that total.
      now = page.total
      found.push(...page.items.filter((item) => !seen.has(item.id) && writtenAt(item) > horizon))
      if (found.length >= now - total) break
    }
    // Remove duplicates, because a page can repeat a row that a concurrent insert pushed down.
    const items = [...new Map(found.map((item) => [item.id, item])).values()].reverse()
    addSeen(items)
    total = now
    return pageOf(items)
  }

  const first = await list({ query: { limit: PAGE } })
  addSeen(first.items.toReversed())
  total = first.total
  yield pageOf(first.items.slice(0, limit).reverse())
  note('Waiting for new rows. Press Ctrl-C to stop.')
  for await (const page of poll(readNew, { note, wait, stop })) if (page.items.length > 0) yield page
}

interface PollOptions extends Pick<FollowOptions<never>, 'note'> {
  wait: () => Promise<unknown>
  stop?: AbortSignal
}

/** Yields the result of a read again and again. While the server is unreachable, reports it once, and keeps reading. */
export async function* poll<T>(read: () => Promise<T>, { note, wait, stop }: PollOptions): AsyncGenerator<T> {
  let isAway = false
  while (!stop?.aborted) {
    try {
      await wait()
      const found = await read()
      if (isAway) note('The server is back')
      isAway = false
      yield found
    } catch (error) {
      if (stop?.aborted) return
      if (!isTemporary(error)) throw error
      if (!isAway) note(`${error.message}; waiting for the server`)
      isAway = true
    }
  }
}

function isTemporary(error: unknown): error is Error {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500)
}

function pageOf<T>(items: T[]): Page<T> {
  return { items, total: items.length, limit: PAGE, offset: 0, nextCursor: null, hasMore: false }
}
