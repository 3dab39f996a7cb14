import { setMaxListeners } from 'node:events'
import pLimit from 'p-limit'
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import { errorLine, failure } from '../bulk/results.ts'
import type { RowResult } from '../bulk/row-action.ts'

/** Answers that speak of one pass; any other (no permission, no server) would meet every row. */
const rowStatuses = [400, 404, 409, 412]

export interface ChangeOptions {
  client: Client
  signal: AbortSignal
}

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
