import type { Job } from '../../storage/jobs.ts'
import type { Services } from '../context.ts'

const CHUNK = 1_000

/** Takes the passes of a deleted project out of it, a chunk in each transaction, so that no one waits for a million. */
export async function detachProjects(jobs: Job[], { store, clock }: Services): Promise<void> {
  for (const job of jobs) {
    let detached: number
    do {
      detached = await store.transaction((tx) =>
        tx.passes.detachFromProject(job.workspaceId, job.subject, CHUNK, clock()),
      )
    } while (detached === CHUNK)
    await store.transaction((tx) => tx.jobs.complete([job]))
  }
}
