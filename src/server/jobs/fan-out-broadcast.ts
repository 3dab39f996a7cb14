import type { Job } from '../../storage/jobs.ts'
import type { Repositories } from '../../storage/store.ts'
import type { Services } from '../context.ts'

/**
 * Makes a notification for each pass that is issued at the moment when the broadcast starts. A chunk at a time, each in a
 * transaction of its own that also remembers how far it came: whoever takes over goes on behind it, and other work gets
 * its turn in between.
 */
export async function fanOutBroadcasts(jobs: Job[], { store, clock }: Services): Promise<void> {
  for (const job of jobs) {
    const isThere = await store.transaction((tx) => start(tx, job, clock()))
    let isDone = !isThere
    while (!isDone) isDone = await store.transaction((tx) => fanOutChunk(tx, job, clock()))
  }
}

/** False when it was cancelled in time. */
async function start(tx: Repositories, job: Job, at: Date): Promise<boolean> {
  const { workspaceId, subject } = job
  const broadcast = await tx.broadcasts.findForUpdate(workspaceId, subject)
  if (!broadcast) {
    await tx.jobs.complete([job])
    return false
  }
  if (broadcast.startedAt === null) await tx.broadcasts.setStarted(workspaceId, subject, at)
  return true
}

/** True when it was the last. */
async function fanOutChunk(tx: Repositories, job: Job, at: Date): Promise<boolean> {
  const { workspaceId, subject, correlationId } = job
  const broadcast = (await tx.broadcasts.findForUpdate(workspaceId, subject))!
  // Another worker, which took over a lease that had ended, may have finished it.
  if (broadcast.dispatchedAt === null) {
    const chunk = await tx.broadcasts.findChunk(workspaceId, broadcast)
    const made = await tx.broadcasts.fanOut(workspaceId, broadcast, chunk, at)
    if (made > 0) await tx.jobs.insertFanOut(subject, chunk, correlationId, at)
    if (chunk.upTo !== null) return false
  }
  await tx.jobs.complete([job])
  return true
}
