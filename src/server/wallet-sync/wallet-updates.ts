import { platforms } from '../../core/contract/platform.ts'
import type { Repositories } from '../../storage/store.ts'

/** The time and cause of an update. Bulk updates go to the queues of bulk work. */
export interface UpdateCause {
  at: Date
  /** One for all passes, or a function of the pass. */
  correlationId: string | null | ((passId: string) => string | null)
  isBulk?: boolean | undefined
}

/**
 * Queues updates of the wallets that hold these passes, with one job per pass and platform regardless of the number of
 * changes. An update of many passes that no person waits for is bulk. Call it in the transaction of the change, which
 * has locked the passes. Passes in no wallet cost nothing.
 */
export async function queueWalletUpdates(
  tx: Repositories,
  workspaceId: string,
  passIds: string[],
  { at, correlationId, isBulk = false }: UpdateCause,
): Promise<void> {
  const holders = await tx.heldPasses.findHolders(workspaceId, passIds)
  for (const platform of platforms) {
    const jobs = holders[platform].map((subject) => ({
      workspaceId,
      kind: `update-${platform}` as const,
      subject,
      correlationId: typeof correlationId === 'function' ? correlationId(subject) : correlationId,
      isBulk,
    }))
    await tx.jobs.insertOnce(jobs, at)
  }
}
