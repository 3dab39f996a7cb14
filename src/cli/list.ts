import { Flags } from '@oclif/core'
import { walk } from '../client/client.ts'
import type { Page } from '../core/contract/common.ts'

/** Flags of every command that lists. */
export const listFlags = {
  limit: Flags.integer({ summary: 'How many to show, 1 to 100 (20).', min: 1, max: 100, exclusive: ['all'] }),
  cursor: Flags.string({ summary: 'Go on from the nextCursor of an earlier page.', exclusive: ['all'] }),
  all: Flags.boolean({ summary: 'Show every one, page after page.' }),
}

interface ListFlags {
  limit?: number | undefined
  cursor?: string | undefined
  all: boolean
}

type List<T, Q> = (call: { query: Q & { limit?: number; cursor?: string } }) => Promise<Page<T>>

/** One page, or all of them as one. */
export async function listPage<T, Q extends object>(list: List<T, Q>, query: Q, flags: ListFlags): Promise<Page<T>> {
  if (!flags.all) {
    const { limit, cursor } = flags
    return list({ query: { ...query, ...(limit && { limit }), ...(cursor && { cursor }) } })
  }
  const items: T[] = []
  for await (const item of walk(list, query)) items.push(item)
  return { items, total: items.length, limit: items.length, offset: 0, nextCursor: null, hasMore: false }
}

/** What stands beneath a page that is not the whole list; undefined beneath the last. */
export function moreHint(page: Page<unknown>): string | undefined {
  if (!page.hasMore) return undefined
  const shown = page.offset + page.items.length
  return `${shown} of ${page.total} shown. --all shows every one; --cursor ${page.nextCursor} goes on.`
}
