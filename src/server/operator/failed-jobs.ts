import type { AuditAction } from '../../core/audit.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import { groupBy } from '../../core/group-by.ts'
import { idsOf } from '../../core/ids.ts'
import { isUuidText } from '../../core/uuid.ts'
import type { FailedJob, FailedJobFilter } from '../../storage/jobs/backlog.ts'
import type { JobKind } from '../../storage/jobs/job-kinds.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import { passUpdated } from '../pass-content/pass-updated.ts'
import { auditOperator, getWorkspace, OperatorError, withStore } from './operator.ts'

const CHUNK = 200
const walletUpdates: JobKind[] = platforms.map((platform) => `update-${platform}` as const)

/**
 * Retries discarded or quarantined jobs. If a job set its pass to FAILED, sets the pass to QUEUED. For a wallet update,
 * also writes the event pass.updated, with `manual_requeue` as its only changed field. Without IDs in the filter, also
 * queues passes that could not be signed, because these passes have no discarded job.
 * @returns the number of jobs that are due now
 */
export async function retryJobs(store: Store, filter: FailedJobFilter, at: Date): Promise<number> {
  const retried = await forFailedJobs(store, filter, 'job.retry', at, async (tx, workspaceId, jobs) => {
    const requeued = await tx.backlog.requeue(idsOf(jobs), at)
    await reviveSubjects(tx, workspaceId, jobs, at)
    return requeued
  })
  if (filter.ids) return retried
  const { workspaceId } = filter
  const workspaceIds = workspaceId === undefined ? idsOf(await store.workspaces.list()) : [workspaceId]
  let issued = 0
  for (const id of workspaceIds) issued += await issueUnsigned(store, id, at)
  return retried + issued
}

/** Queues the passes that could not be signed, each only once, even if it fails again because its key is missing. */
async function issueUnsigned(store: Store, workspaceId: string, at: Date): Promise<number> {
  let count = 0
  let last: string | undefined
  do {
    const ids = await store.transaction(async (tx) => {
      const passIds = await tx.passes.lockUnsigned(workspaceId, last, CHUNK)
      if (passIds.length === 0) return passIds
      await tx.passes.setQueuedAgain(workspaceId, passIds, at)
      const jobs = passIds.map((subject) => ({
        workspaceId,
        kind: 'issue-pass' as const,
        subject,
        correlationId: null,
      }))
      await tx.jobs.insert(jobs, at)
      const targetId = passIds.length === 1 ? passIds[0]! : null
      await auditOperator(tx, workspaceId, { action: 'job.retry', targetId, targetCount: passIds.length }, at)
      return passIds
    })
    count += ids.length
    last = ids.at(-1)
  } while (last !== undefined)
  return count
}

/** Deletes discarded or quarantined jobs permanently. Does not change their passes or other subjects. @returns the number of jobs */
export function deleteJobs(store: Store, filter: FailedJobFilter, at: Date): Promise<number> {
  return forFailedJobs(store, filter, 'job.delete', at, (tx, _, jobs) => tx.backlog.delete(idsOf(jobs)))
}

/**
 * Runs work on one discarded or quarantined job, on all of a workspace, or on all of the server.
 * @throws OperatorError if the ID does not belong to such a job
 */
export function withFailedJobs(
  databaseUrl: string,
  { id, workspace }: { id: string | undefined; workspace: string | undefined },
  work: (store: Store, filter: FailedJobFilter) => Promise<number>,
): Promise<number> {
  return withStore(databaseUrl, async (store) => {
    const workspaceId = workspace && (await getWorkspace(store, workspace)).id
    const ids = id === undefined ? undefined : isUuidText(id) ? [id.toLowerCase()] : []
    const count = await work(store, { ...(workspaceId && { workspaceId }), ids })
    if (ids && count === 0) {
      throw new OperatorError(
        `Job ${id} is neither discarded nor quarantined. To list such jobs, run "passes jobs list".`,
      )
    }
    return count
  })
}

async function forFailedJobs(
  store: Store,
  filter: FailedJobFilter,
  action: AuditAction,
  at: Date,
  work: (tx: Repositories, workspaceId: string, jobs: FailedJob[]) => Promise<number>,
): Promise<number> {
  let count = 0
  for (;;) {
    const found = await store.transaction(async (tx) => {
      const failed = await tx.backlog.listFailed(filter, CHUNK)
      for (const [workspaceId, ours] of groupBy(failed, (job) => job.workspaceId)) {
        count += await work(tx, workspaceId, ours)
        const targetId = ours.length === 1 ? ours[0]!.id : null
        await auditOperator(tx, workspaceId, { action, targetId, targetCount: ours.length }, at)
      }
      return failed.length
    })
    if (found < CHUNK) return count
  }
}

async function reviveSubjects(tx: Repositories, workspaceId: string, jobs: FailedJob[], at: Date): Promise<void> {
  const issued = jobs.filter((job) => job.kind === 'issue-pass').map((job) => job.subject)
  await tx.passes.setQueuedAgain(workspaceId, issued, at)
  const updates = new Map(jobs.filter((job) => walletUpdates.includes(job.kind)).map((job) => [job.subject, job]))
  const passes = await tx.passes.listByIds(workspaceId, [...updates.keys()])
  const events = passes.map((pass) =>
    passUpdated(pass, ['manual_requeue'], updates.get(pass.id)?.correlationId ?? null),
  )
  await tx.events.insert(workspaceId, events, at)
}
