import { setMaxListeners } from 'node:events'
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
  const limit = limitConcurrency(concurrency)
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

/** Runs at most `limit` pieces of work at once; the others wait in their order. */
export function limitConcurrency(limit: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    // Who ends hands his place to the next in line, so that nobody can slip in between.
    if (running === limit) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
