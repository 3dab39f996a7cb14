import { setImmediate } from 'node:timers/promises'
import { NUDGE_SPACING_SECONDS } from '../../core/rules/sending/nudging.ts'
import type { Nudged } from '../../storage/passes/nudges.ts'
import type { LongJobServices, Services } from '../context.ts'
import { queuePushes } from './holders.ts'

/** The maximum number of devices per workspace to which a run pushes again. The next run follows a minute later. */
export const NUDGED_A_RUN = 1_000

/**
 * The maximum number of reads (500 passes each) per workspace and run. More would delay other workspaces by minutes.
 */
const MAX_READS = 100

/**
 * Pushes again to phones that have not fetched a change. The database records the progress, so that no phone gets two
 * pushes, even if a server resumes a run, or several servers run concurrently.
 */
export async function nudgeSilent(services: LongJobServices & Pick<Services, 'metrics'>): Promise<void> {
  const { store, clock, stopping, metrics } = services
  let workspaceId = await store.nudges.findDueWorkspace(clock())
  while (workspaceId !== undefined && !stopping.aborted) {
    let remaining = NUDGED_A_RUN
    let isMore = true
    for (let reads = 0; isMore && reads < MAX_READS && !stopping.aborted; reads++) {
      const nudged = await nudgeSome(workspaceId, remaining, services)
      metrics.nudges.inc(nudged.devices)
      remaining -= nudged.devices
      isMore = nudged.isMore
      await setImmediate()
    }
    workspaceId = await store.nudges.findDueWorkspace(clock(), workspaceId)
  }
}

/** Queues pushes to up to `limit` devices. Also deletes the nudges of passes that are current on all phones. */
function nudgeSome(workspaceId: string, limit: number, { store, clock }: LongJobServices): Promise<Nudged> {
  return store.transaction(async (tx) => {
    const at = clock()
    const pushedBefore = new Date(at.getTime() - NUDGE_SPACING_SECONDS * 1000)
    const nudged = await tx.nudges.forgetDue(workspaceId, { at, pushedBefore, limit })
    await queuePushes(tx, workspaceId, nudged.passIds, { at, correlationId: null })
    return nudged
  })
}

/**
 * Pushes to phones that have to move to another address, at the rate of each move (decisions/0020). The database
 * records the progress, so that no phone gets two pushes, even if a server resumes a run.
 */
export async function movePhones(services: LongJobServices & Pick<Services, 'metrics'>): Promise<void> {
  const { store, clock, stopping, metrics } = services
  let workspaceId = await store.moves.findDueWorkspace(clock())
  while (workspaceId !== undefined && !stopping.aborted) {
    const ofWorkspace = workspaceId
    const moved = await store.transaction(async (tx) => {
      const at = clock()
      const passIds = await tx.moves.take(ofWorkspace, at)
      await queuePushes(tx, ofWorkspace, passIds, { at, correlationId: null })
      return passIds.length
    })
    metrics.movedPasses.inc(moved)
    workspaceId = await store.moves.findDueWorkspace(clock(), ofWorkspace)
  }
}
