import { setMaxListeners } from 'node:events'
import pLimit from 'p-limit'
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { MAX_ALTERNATIVES } from '../../core/contract/schemas/list-parameters.ts'
import { errorLine, failure, type RowResult } from '../bulk/row-action.ts'
import { RowImageError } from '../bulk/row-images.ts'

export interface EachPass<Item, Name extends string> {
  /** The maximum number of concurrent requests, across all batches. */
  concurrency: number
  change: (pass: Pass, item: Item, options: ChangeOptions) => Promise<Name>
  /** Called with the passes of a batch before any of them is changed. */
  onFound?: (client: Client, passes: readonly Pass[], note: (message: string) => void) => Promise<void>
}

/** Creates a `send` function that finds all passes of a batch first, then changes each pass separately. */
export function changeEach<Item extends { externalPassId: string }, Name extends string>({
  concurrency,
  change,
  onFound,
}: EachPass<Item, Name>) {
  const changeAll = changeConcurrently<{ pass: Pass | undefined; item: Item }, Name>({
    concurrency,
    async change({ pass, item }, options) {
      if (!pass) return failure('PASS_NOT_FOUND: No pass has this external ID')
      return { outcome: await change(pass, item, options) }
    },
  })
  return async (
    items: Item[],
    context: { client: Client; note: (message: string) => void },
  ): Promise<RowResult<Name>[]> => {
    const { client, note } = context
    const ids = items.map(({ externalPassId }) => externalPassId)
    const passes = await findPasses(client, ids)
    await onFound?.(client, [...passes.values()], note)
    return changeAll(
      client,
      items.map((item) => ({ pass: passes.get(item.externalPassId), item })),
    )
  }
}

/**
 * The statuses of errors that concern one pass. Any other error, such as a missing permission, stops the run, because
 * it would affect every row.
 */
const rowStatuses = [400, 404, 409, 412]

interface ChangeOptions {
  client: Client
  signal: AbortSignal
}

export interface ConcurrentChanges<Item, Name extends string> {
  concurrency: number
  change: (item: Item, options: ChangeOptions) => Promise<RowResult<Name>>
}

/** Creates a function that changes the items of a batch concurrently and returns their results in order. */
export function changeConcurrently<Item, Name extends string>({ concurrency, change }: ConcurrentChanges<Item, Name>) {
  const limit = pLimit(concurrency)
  return async (client: Client, items: Item[]): Promise<RowResult<Name>[]> => {
    // Abort concurrent requests after the first error that stops the run, because their retries would delay the exit.
    const stop = new AbortController()
    // Allow any number of listeners. Each request adds a listener, and Node would warn about a leak above ten.
    setMaxListeners(0, stop.signal)
    const changeItem = async (item: Item): Promise<RowResult<Name>> => {
      try {
        return await change(item, { client, signal: stop.signal })
      } catch (error) {
        if (error instanceof ApiError && rowStatuses.includes(error.status)) return failure(errorLine(error))
        if (error instanceof RowImageError) return failure(error.message)
        throw error
      }
    }
    try {
      return await Promise.all(items.map((item) => limit(() => changeItem(item))))
    } finally {
      stop.abort()
    }
  }
}

/** The maximum size of all ids in a URL, in bytes. Servers and proxies limit the request line to 8 or 16 KB. */
const MAX_BYTES = 6_000

/** Returns the passes with these external ids, by external id. Omits ids without a pass. */
export async function findPasses(client: Client, externalPassIds: readonly string[]): Promise<Map<string, Pass>> {
  const pages = await Promise.all(
    groupIds([...new Set(externalPassIds)]).map((ids) =>
      client.passes.list({ query: { externalPassId: ids, limit: MAX_ALTERNATIVES } }),
    ),
  )
  return new Map(pages.flatMap(({ items }) => items.map((pass) => [pass.externalPassId, pass])))
}

export function groupIds(ids: readonly string[]): string[][] {
  const groups: string[][] = []
  let bytes = 0
  for (const id of ids) {
    const size = `externalPassId=${encodeURIComponent(id)}&`.length
    const group = groups.at(-1)
    if (group && group.length < MAX_ALTERNATIVES && bytes + size <= MAX_BYTES) {
      group.push(id)
      bytes += size
    } else {
      groups.push([id])
      bytes = size
    }
  }
  return groups
}
