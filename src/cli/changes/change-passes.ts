import { setMaxListeners } from 'node:events'
import pLimit from 'p-limit'
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { errorLine, failure, type RowResult } from '../bulk/row-action.ts'
import { RowImageError } from '../bulk/row-images.ts'
import { findPasses } from './find-passes.ts'

/** How the passes of many rows are changed, each by a request of its own. */
export interface EachPass<Item, Name extends string> {
  /** Requests in flight at once, over all batches. */
  concurrency: number
  /** Resolves to what became of the row. */
  change: (pass: Pass, item: Item, options: ChangeOptions) => Promise<Name>
  /** Called with the passes of a batch before any is changed. */
  onFound?: (client: Client, passes: readonly Pass[], note: (message: string) => void) => Promise<void>
}

/** Sends for a batch: finds the passes of all items at once, then changes each by a request of its own. */
export function changeEach<Item extends { externalPassId: string }, Name extends string>({
  concurrency,
  change,
  onFound,
}: EachPass<Item, Name>) {
  const changeAll = changeConcurrently<{ pass: Pass | undefined; item: Item }, Name>({
    concurrency,
    async change({ pass, item }, options) {
      if (!pass) return failure('PASS_NOT_FOUND: There is no pass with this external id')
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

/** Answers that speak of one pass; any other (no permission, no server) would meet every row. */
const rowStatuses = [400, 404, 409, 412]

interface ChangeOptions {
  client: Client
  signal: AbortSignal
}

/** How many changes are in flight, and what each is. */
export interface ConcurrentChanges<Item, Name extends string> {
  /** Requests in flight at once, over all batches. */
  concurrency: number
  change: (item: Item, options: ChangeOptions) => Promise<RowResult<Name>>
}

/** Changes the items of a batch, each by a request of its own: a result for each, in their order. */
export function changeConcurrently<Item, Name extends string>({ concurrency, change }: ConcurrentChanges<Item, Name>) {
  const limit = pLimit(concurrency)
  return async (client: Client, items: Item[]): Promise<RowResult<Name>[]> => {
    // The first answer that stops the run ends the requests beside it, whose tries would keep the program waiting.
    const stop = new AbortController()
    // One for each request, and Node would take more than ten for a leak.
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
