import type { Services } from '../context.ts'

/** Makes jobs due again whose worker died; their passes are QUEUED again. */
export async function releaseJobs({ store, clock }: Services): Promise<void> {
  const at = clock()
  if (!(await store.jobs.hasLapsed(at))) return
  await store.transaction(async (tx) => {
    const jobs = await tx.jobs.release(at)
    for (const workspaceId of new Set(jobs.map((job) => job.workspaceId))) {
      const passIds = jobs
        .filter((job) => job.workspaceId === workspaceId && job.kind === 'issue-pass')
        .map((job) => job.subject)
      await tx.passes.setQueued(workspaceId, passIds, at)
    }
  })
}
