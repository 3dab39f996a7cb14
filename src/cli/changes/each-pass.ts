import type { Client } from '../../client/client.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { failure } from '../bulk/results.ts'
import type { RowResult } from '../bulk/row-action.ts'
import { type ChangeOptions, changeConcurrently } from './concurrent-changes.ts'
import { findPasses } from './find-passes.ts'

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
