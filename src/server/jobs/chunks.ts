import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories } from '../../storage/store.ts'
import type { Services } from '../context.ts'
import { createPace, type PaceOptions } from './pace.ts'

/**
 * Does the long work of a job a chunk at a time, each in a transaction of its own, so that whoever takes over goes on behind
 * it and other work gets its turn in between. A server that stops gives the job back between two chunks.
 * @param size the rows of a chunk
 * @param chunk does the next one, of so many rows; true when it was the last
 * @returns whether the work is done; false where the job is no longer ours
 */
export async function workInChunks(
  job: Job,
  { store, stopping, clock }: Services,
  size: PaceOptions,
  chunk: (tx: Repositories, rows: number) => Promise<boolean>,
): Promise<boolean> {
  const pace = createPace(size)
  for (;;) {
    const isDone = await store.transaction(async (tx) => {
      if ((await tx.jobs.lockHeld([job])).length === 0) return undefined
      if (!stopping.aborted) return pace.run((rows) => chunk(tx, rows))
      await tx.jobs.snooze([job], clock())
      return undefined
    })
    if (isDone !== false) return isDone === true
  }
}
