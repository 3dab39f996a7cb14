import { setImmediate } from 'node:timers/promises'
import { NUDGE_SPACING_SECONDS } from '../../core/rules/sending/nudging.ts'
import type { Nudged } from '../../storage/passes/nudges.ts'
import type { LongJobServices, Services } from '../context.ts'
import { queuePushes } from './holders.ts'

/** The maximum number of devices of a workspace that a run pushes again. The next run follows a minute later. */
export const NUDGED_A_RUN = 1_000

/**
 * The maximum number of reads per workspace and run, of 500 passes each. With more reads, other workspaces would wait
 * for minutes.
 */
const MAX_READS = 100

/**
 * Pushes phones again that have not fetched a change. The database records the progress, so that servers that resume or
 * run concurrently push no phone twice.
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

/**
 * Queues pushes to up to `limit` devices. Even with a limit of 0, removes the nudges of passes whose phones all have
 * the current version.
 */
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
 * Pushes phones that have to move to another address, at the rate of each move (decisions/0020). The database records
 * the progress, so that a resumed server pushes no phone twice.
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
