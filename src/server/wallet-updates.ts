import type { Repositories } from '../storage/store.ts'

/**
 * Queues the update of wallets that hold these passes, one job a pass however many changes come together. Called in the
 * transaction of the change, which holds the passes' rows; passes that no wallet holds cost nothing more.
 */
export async function queueWalletUpdates(
  tx: Repositories,
  workspaceId: string,
  passIds: string[],
  cause: { at: Date; correlationId: string | null },
): Promise<void> {
  const held = new Set([
    ...(await tx.registrations.list(workspaceId, passIds)).map(({ passId }) => passId),
    ...(await tx.googleObjects.list(workspaceId, passIds)).map(({ passId }) => passId),
  ])
  const jobs = passIds
    .filter((id) => held.has(id))
    .map((subject) => ({ workspaceId, kind: 'update-wallet' as const, subject, correlationId: cause.correlationId }))
  await tx.jobs.insertOnce(jobs, cause.at)
}
