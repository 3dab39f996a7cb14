import { setImmediate } from 'node:timers/promises'
import { NUDGE_SPACING_SECONDS } from '../../core/rules/sending/nudging.ts'
import type { Services } from '../context.ts'

/** Devices of a workspace that one run pushes again; the rest waits for the next one, a minute later. */
export const NUDGED_A_RUN = 1_000

/**
 * Pushes phones again that were told of a change and stay silent. What it did stands in the database, so that whoever goes on after
 * it, also on another server at the same moment, pushes nobody twice.
 */
export async function nudgeSilent(services: Services): Promise<void> {
  const { store, clock, stopping, metrics } = services
  let workspaceId = await store.nudges.findDueWorkspace(clock())
  while (workspaceId !== undefined && !stopping.aborted) {
    metrics.nudges.inc(await nudgeInWorkspace(workspaceId, services))
    await setImmediate()
    workspaceId = await store.nudges.findDueWorkspace(clock(), workspaceId)
  }
}

function nudgeInWorkspace(workspaceId: string, { store, clock }: Services): Promise<number> {
  return store.transaction(async (tx) => {
    const at = clock()
    const pushedBefore = new Date(at.getTime() - NUDGE_SPACING_SECONDS * 1000)
    const { devices, passIds } = await tx.nudges.forgetDue(workspaceId, { at, pushedBefore, limit: NUDGED_A_RUN })
    const job = { workspaceId, kind: 'update-wallet' as const, correlationId: null, isBulk: true }
    await tx.jobs.insertOnce(
      passIds.map((subject) => ({ ...job, subject })),
      at,
    )
    return devices
  })
}
