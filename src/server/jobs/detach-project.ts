import type { Job } from '../../storage/jobs/jobs.ts'
import type { Services } from '../context.ts'
import { workInChunks } from './chunks.ts'

const CHUNK = 1_000

/** Takes the passes of a deleted project out of it, so that no one waits for a million. */
export async function detachProjects(jobs: Job[], services: Services): Promise<void> {
  for (const job of jobs) {
    await workInChunks(job, services, async (tx) => {
      const detached = await tx.passes.detachFromProject(job.workspaceId, job.subject, CHUNK, services.clock())
      if (detached === CHUNK) return false
      await tx.jobs.complete([job])
      return true
    })
  }
}
