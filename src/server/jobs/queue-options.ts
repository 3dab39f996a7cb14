import type { Priority, RegularQueue } from '../../storage/jobs/job-kinds.ts'

export type WorkerQueues = Record<RegularQueue, Partial<Record<Priority, QueueOptions>>>

export interface QueueOptions {
  /** The maximum number of jobs per batch. All jobs of a batch belong to one workspace. */
  batchSize: number
  /** The maximum number of concurrent batches of all workspaces. One workspace has at most half of them, rounded up. */
  batches: number
  /** The maximum number of batches that hang at a platform and so do not count toward `batches`. Default: `batches`. */
  hanging?: number
  /** The maximum number of jobs that start per second in all workspaces together. Default: unlimited. */
  perSecond?: number | undefined
}

/** The options of the quarantine: one job at a time, so that a job that crashes the process interrupts no other one. */
export const quarantineOptions: QueueOptions = { batchSize: 1, batches: 1, hanging: 0 }

/**
 * Limits the jobs per second. The more jobs start together, the longer the next jobs wait.
 * @param now returns the milliseconds of a monotonic clock
 */
export function createThrottle(perSecond = Number.POSITIVE_INFINITY, now = () => performance.now()) {
  let freeAt = 0
  return {
    /** The maximum number of jobs that can start together: the number per second, but at least one. */
    most: Math.max(1, Math.floor(perSecond)),
    /** Returns the milliseconds until further jobs can start; 0 if they can start now. */
    wait: () => Math.max(0, freeAt - now()),
    take(count: number): void {
      freeAt = Math.max(freeAt, now()) + (count / perSecond) * 1000
    },
  }
}
