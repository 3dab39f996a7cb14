import type { Job } from '../../storage/jobs/jobs.ts'
import type { Services } from '../context.ts'
import { workInChunks } from '../jobs/chunks.ts'

/** Deliveries that a transaction makes, but for a single event that has more endpoints. Few at first: each job is timed anew. */
const DELIVERIES = { first: 50, most: 500 }

/** Makes the deliveries of what happened in a workspace, a bounded number in each transaction. */
export async function fanOutEvents(jobs: Job[], services: Services): Promise<void> {
  for (const job of jobs) {
    const { workspaceId, kind, subject } = job
    await workInChunks(job, services, DELIVERIES, async (tx, deliveries) => {
      // First the jobs that wait, then what is pending: an event that comes in between has a job that stays.
      await tx.jobs.deleteWaiting(kind, subject)
      if (await tx.events.fanOut(workspaceId, services.clock(), deliveries)) return false
      await tx.jobs.complete([job])
      return true
    })
  }
}
