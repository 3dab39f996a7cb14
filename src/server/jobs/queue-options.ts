import type { Priority, RegularQueue } from '../../storage/jobs/job-kinds.ts'

/** The options of each queue, by the priorities that its jobs have. */
export type WorkerQueues = Record<RegularQueue, Partial<Record<Priority, QueueOptions>>>

/** How much of one priority of a queue is in flight. */
export interface QueueOptions {
  /** Jobs taken at once, all of one workspace. */
  batchSize: number
  /** Batches in flight at the same time, of all workspaces together. One alone has half of them at most. */
  batches: number
  /** Its jobs wait for nothing but the database, so that workspaces take turns at the thread. Issuing does so by itself. */
  isLocal?: boolean
  /** Batches that may stay in hand beside those when they left their slots; as many by default. */
  hanging?: number
  /** Jobs that are begun in a second, of all workspaces together; as many as there are by default. */
  perSecond?: number | undefined
}

/**
 * One job at a time: if it stops the process, no other job of the queue lapses with it. A job that takes longer than
 * QUARANTINE_SLOT_MS leaves its slot. Otherwise passes would wait for minutes behind the fan-out of a large broadcast.
 */
export const quarantineOptions: QueueOptions = { batchSize: 1, batches: 1, hanging: 7 }

/** The time after which a job of the quarantine queue lets the next one start, in milliseconds. */
export const QUARANTINE_SLOT_MS = 2_000

/** Lets so many through in a second, evenly: after some went, the next ones wait until it is their turn. */
export interface Throttle {
  /** How many may go at once, when any may: a second's worth, and at least one. */
  most: number
  /** Milliseconds until more may go; 0 at once. */
  wait(): number
  /** So many go now. */
  take(count: number): void
}

/** Lets jobs begin at an even pace: see Throttle. @param now milliseconds of a clock that never goes back */
export function createThrottle(perSecond = Number.POSITIVE_INFINITY, now = () => performance.now()): Throttle {
  let freeAt = 0
  return {
    most: Math.max(1, Math.floor(perSecond)),
    wait: () => Math.max(0, freeAt - now()),
    take(count) {
      freeAt = Math.max(freeAt, now()) + (count / perSecond) * 1000
    },
  }
}
