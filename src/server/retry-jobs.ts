import type { FailedJob, FailedJobFilter } from '../storage/backlog.ts'
import type { JobKind } from '../storage/jobs.ts'
import type { Repositories, Store } from '../storage/store.ts'
import { auditOperator } from './operator.ts'

const CHUNK = 200
const walletUpdates: JobKind[] = ['update-wallet', 'update-google']

/**
 * Runs jobs again that gave up, as an operator asks. A pass that failed with its job is QUEUED again; a wallet update
 * that is run again fires pass.updated with the one entry manual_requeue.
 * @returns how many are due now
 */
export async function retryJobs(store: Store, filter: FailedJobFilter, at: Date): Promise<number> {
  let count = 0
  for (;;) {
    const jobs = await store.transaction(async (tx) => {
      const failed = await tx.backlog.listFailed(filter, CHUNK)
      const requeued = await tx.backlog.requeue(
        failed.map((job) => job.id),
        at,
      )
      for (const workspaceId of new Set(failed.map((job) => job.workspaceId))) {
        const ours = failed.filter((job) => job.workspaceId === workspaceId)
        await reviveSubjects(tx, workspaceId, ours, at)
        const targetId = ours.length === 1 ? ours[0]!.id : null
        await auditOperator(tx, workspaceId, { action: 'job.retry', targetId, targetCount: ours.length }, at)
      }
      count += requeued
      return failed.length
    })
    if (jobs < CHUNK) return count
  }
}

async function reviveSubjects(tx: Repositories, workspaceId: string, jobs: FailedJob[], at: Date): Promise<void> {
  const issued = jobs.filter((job) => job.kind === 'issue-pass').map((job) => job.subject)
  await tx.passes.setQueuedAgain(workspaceId, issued, at)
  const updates = new Map(jobs.filter((job) => walletUpdates.includes(job.kind)).map((job) => [job.subject, job]))
  const passes = await tx.passes.listByIds(workspaceId, [...updates.keys()])
  await tx.events.insert(
    workspaceId,
    passes.map(({ id, externalPassId, templateId, templateVersionId, projectId }) => ({
      type: 'pass.updated' as const,
      subject: id,
      data: {
        id,
        externalPassId,
        templateId,
        templateVersionId,
        projectId,
        changedFields: ['manual_requeue' as const],
      },
      correlationId: updates.get(id)?.correlationId ?? null,
    })),
    at,
  )
}
