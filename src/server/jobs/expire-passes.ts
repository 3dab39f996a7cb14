import type { Services } from '../context.ts'
import { queueWalletUpdates } from '../wallet-sync/wallet-updates.ts'

/** Passes of one transaction, and transactions of one run: what is left is taken up a second later. */
const CHUNK = 500
const CHUNKS = 10

/** Marks passes past their expiry, and queues what wallets are to show of it. One that stops leaves the rest. */
export async function expirePasses({ store, clock, stopping }: Services): Promise<void> {
  // A read first: a scheduler with nothing to do must not take turns with writers.
  if (!(await store.passes.hasExpired(clock()))) return
  let expired = CHUNK
  for (let n = 0; n < CHUNKS && expired === CHUNK && !stopping.aborted; n += 1) {
    expired = await store.transaction(async (tx) => {
      const at = clock()
      const passes = await tx.passes.expire(at, CHUNK)
      for (const workspaceId of new Set(passes.map((pass) => pass.workspaceId))) {
        const ids = passes.filter((pass) => pass.workspaceId === workspaceId).map((pass) => pass.id)
        await queueWalletUpdates(tx, workspaceId, ids, { at, correlationId: null, isBulk: true })
      }
      return passes.length
    })
  }
}
