import { QUARANTINE_REASON } from '../../core/rules/sending/retry.ts'
import type { Services } from '../context.ts'
import { giveUp } from './handlers.ts'

/**
 * Takes jobs from workers that died or hang: they are due again and their passes QUEUED. One that was taken too often is
 * quarantined, and what it was to care for has failed.
 */
export async function releaseJobs({ store, clock, log }: Services): Promise<void> {
  const at = clock()
  if (!(await store.jobs.hasLapsed(at))) return
  const jobs = await store.transaction(async (tx) => {
    const released = await tx.jobs.release(at)
    for (const workspaceId of new Set(released.map((job) => job.workspaceId))) {
      const passIds = released
        .filter((job) => job.workspaceId === workspaceId && job.kind === 'issue-pass' && !job.isQuarantined)
        .map((job) => job.subject)
      await tx.passes.setQueued(workspaceId, passIds, at)
    }
    for (const job of released) if (job.isQuarantined) await giveUp[job.kind]?.(tx, job, QUARANTINE_REASON, at)
    return released
  })
  for (const { isQuarantined, ...job } of jobs) if (isQuarantined) log.error(job, 'a job is quarantined')
}
