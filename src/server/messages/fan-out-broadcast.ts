import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import type { LongJobServices } from '../context.ts'
import { workInChunks } from '../jobs/chunks.ts'

/** Creates a notification for each pass that is issued when the broadcast starts. */
export async function fanOutBroadcasts(jobs: Job[], services: LongJobServices): Promise<void> {
  for (const job of jobs) {
    await workInChunks(job, services, PASSES, (tx, rows) => fanOutChunk(tx, job, rows, services.clock()))
  }
}

const PASSES = { first: 250, most: 2_000 }

/** Processes a chunk and stores the progress. Returns true after the last chunk. */
async function fanOutChunk(tx: Repositories, job: Job, passes: number, at: Date): Promise<boolean> {
  const { workspaceId, subject, correlationId } = job
  const broadcast = await tx.broadcasts.findForUpdate(workspaceId, subject)
  if (broadcast?.startedAt === null) {
    // A template can have moved to another project since the broadcast was created. If projects now share classes, send
    // to each pass separately, so that holders of other projects do not receive the message.
    if (broadcast.googleVia === 'class' && (await tx.broadcasts.sharesClasses(workspaceId, broadcast.projectId))) {
      await tx.broadcasts.setByObject(workspaceId, subject)
    }
    await tx.broadcasts.setStarted(workspaceId, subject, at)
    return false
  }
  // `broadcast` is undefined if it was canceled before it started.
  if (broadcast) {
    const chunk = await tx.broadcasts.findChunk(workspaceId, broadcast, passes)
    const made = await tx.broadcasts.fanOut(workspaceId, broadcast, chunk, at)
    if (made > 0) await tx.jobs.insertFanOut(subject, chunk, correlationId, at)
    if (chunk.upTo !== null) return false
  }
  await tx.jobs.complete([job])
  return true
}
