import type { LongJobServices, Services } from '../context.ts'

/**
 * Pushes phones that have to move to another address, at the rate of each move (decisions/0020). The database records
 * the progress, so that a server that resumes pushes no phone twice.
 */
export async function movePhones(services: LongJobServices & Pick<Services, 'metrics'>): Promise<void> {
  const { store, clock, stopping, metrics } = services
  let workspaceId = await store.moves.findDueWorkspace(clock())
  while (workspaceId !== undefined && !stopping.aborted) {
    const ofWorkspace = workspaceId
    const moved = await store.transaction(async (tx) => {
      const at = clock()
      const passIds = await tx.moves.take(ofWorkspace, at)
      const job = { workspaceId: ofWorkspace, kind: 'update-apple' as const, correlationId: null, isBulk: true }
      await tx.jobs.insertOnce(
        passIds.map((subject) => ({ ...job, subject })),
        at,
      )
      return passIds.length
    })
    metrics.movedPasses.inc(moved)
    workspaceId = await store.moves.findDueWorkspace(clock(), ofWorkspace)
  }
}
