import { setMaxListeners } from 'node:events'
import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { errorLine } from '../bulk/results.ts'
import type { RowResult } from '../bulk/row-action.ts'
import { findPasses } from './find-passes.ts'
import { limitConcurrency } from './limit-concurrency.ts'

/** Answers that speak of one pass; any other (no permission, no server) would meet every row. */
const rowStatuses = [400, 404, 409, 412]

export interface EachPass<Item> {
  /** Requests in flight at once, over all batches. */
  concurrency: number
  change: (pass: Pass, item: Item, options: ChangeOptions) => Promise<unknown>
  /** Called with the passes of a batch before any is changed. */
  onFound?: (client: Client, passes: readonly Pass[], note: (message: string) => void) => Promise<void>
}

export interface ChangeOptions {
  client: Client
  signal: AbortSignal
}

/** Sends for a batch: finds the passes of all items at once, then changes each by a request of its own. */
export function changeEach<Item extends { externalPassId: string }>({ concurrency, change, onFound }: EachPass<Item>) {
  const limit = limitConcurrency(concurrency)
  return async (items: Item[], context: { client: Client; note: (message: string) => void }): Promise<RowResult[]> => {
    const { client } = context
    const ids = items.map(({ externalPassId }) => externalPassId)
    const passes = await findPasses(client, ids)
    await onFound?.(client, [...passes.values()], context.note)
    // The first answer that stops the run ends the requests beside it, whose tries would keep the program waiting.
    const stop = new AbortController()
    // One for each request, and Node would take more than ten for a leak.
    setMaxListeners(0, stop.signal)
    const changeItem = async (item: Item): Promise<RowResult> => {
      const pass = passes.get(item.externalPassId)
      if (!pass) return { error: 'PASS_NOT_FOUND: There is no pass with this external id' }
      try {
        await change(pass, item, { client, signal: stop.signal })
        return { cells: [] }
      } catch (error) {
        if (error instanceof ApiError && rowStatuses.includes(error.status)) return { error: errorLine(error) }
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
