import { setImmediate } from 'node:timers/promises'
import { NUDGE_SPACING_SECONDS } from '../../core/rules/sending/nudging.ts'
import type { Nudged } from '../../storage/passes/nudges.ts'
import type { LongJobServices, Services } from '../context.ts'

/** Devices of a workspace that one run pushes again; the rest waits for the next one, a minute later. */
export const NUDGED_A_RUN = 1_000

/** Looks at a workspace in one run, each at 500 passes: after an update of very many the others must not wait for minutes. */
const LOOKS = 100

/**
 * Pushes phones again that were told of a change and stay silent. What it did stands in the database, so that whoever goes on after
 * it, also on another server at the same moment, pushes nobody twice.
 */
export async function nudgeSilent(services: LongJobServices & Pick<Services, 'metrics'>): Promise<void> {
  const { store, clock, stopping, metrics } = services
  let workspaceId = await store.nudges.findDueWorkspace(clock())
  while (workspaceId !== undefined && !stopping.aborted) {
    let room = NUDGED_A_RUN
    let isMore = true
    for (let looks = 0; isMore && looks < LOOKS && !stopping.aborted; looks++) {
      const nudged = await nudgeSome(workspaceId, room, services)
      metrics.nudges.inc(nudged.devices)
      room -= nudged.devices
      isMore = nudged.isMore
      await setImmediate()
    }
    workspaceId = await store.nudges.findDueWorkspace(clock(), workspaceId)
  }
}

/** One look, in a transaction of its own. Where no device is left in the budget, it still sees whose phones all have the version. */
function nudgeSome(workspaceId: string, limit: number, { store, clock }: LongJobServices): Promise<Nudged> {
  return store.transaction(async (tx) => {
    const at = clock()
    const pushedBefore = new Date(at.getTime() - NUDGE_SPACING_SECONDS * 1000)
    const nudged = await tx.nudges.forgetDue(workspaceId, { at, pushedBefore, limit })
    const job = { workspaceId, kind: 'update-apple' as const, correlationId: null, isBulk: true }
    await tx.jobs.insertOnce(
      nudged.passIds.map((subject) => ({ ...job, subject })),
      at,
    )
    return nudged
  })
}
