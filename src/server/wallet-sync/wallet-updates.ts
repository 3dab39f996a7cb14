import { platforms } from '../../core/contract/platform.ts'
import type { Repositories } from '../../storage/store.ts'

/** When and why phones are told of a change; bulk ones go in the queues of bulk work. */
export interface UpdateCause {
  at: Date
  /** One for all passes, or that of each. */
  correlationId: string | null | ((passId: string) => string | null)
  isBulk?: boolean | undefined
}

/**
 * Queues the update of wallets that hold these passes, one job a pass and platform however many changes come together.
 * An update of many that no person waits for is bulk. Called in the transaction of the change, which holds the passes'
 * rows; passes that no wallet holds cost nothing more.
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
