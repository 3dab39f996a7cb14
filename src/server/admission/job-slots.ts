import type { Priority, RegularQueue } from '../../storage/jobs/job-kinds.ts'

/** The options of each queue, by the priorities that its jobs have. */
export type WorkerQueues = Record<RegularQueue, Partial<Record<Priority, QueueOptions>>>

/** The number of jobs in flight of one priority of a queue. */
export interface QueueOptions {
  /** The number of jobs in a batch, all of one workspace. */
  batchSize: number
  /** The number of batches in flight, of all workspaces. One alone has at most half of them, rounded up. */
  batches: number
  /** Whether its jobs use the database only, so that workspaces take turns at the event loop. */
  isLocal?: boolean
  /** The number of batches that can stay in flight after they left their slots. As `batches` by default. */
  hanging?: number
  /** The number of jobs that start in a second, of all workspaces. No limit by default. */
  perSecond?: number | undefined
}

/**
 * One job at a time: if it stops the process, no other job of the queue lapses with it. A job that takes longer than HANG_MS
 * leaves its slot. Otherwise passes would wait for minutes behind the fan-out of a large broadcast.
 */
export const quarantineOptions: QueueOptions = { batchSize: 1, batches: 1, hanging: 7 }

/** The slots of a queue that each workspace holds. */
export interface Shares {
  /** Returns the workspaces that wait until a slot becomes free. */
  full(): string[]
  take(workspaceId: string): void
  leave(workspaceId: string): void
}

/**
 * Shares slots among workspaces by dynamic thresholds (Choudhury and Hahne): a workspace can take another slot while it holds
 * fewer than are free. One workspace has at most half of the slots, two have a third each, and a newcomer finds a free slot
 * no matter how long the others hold theirs.
 */
export function createShares(slots: number): Shares {
  const held = new Map<string, number>()
  let free = slots

  const change = (workspaceId: string, by: 1 | -1) => {
    const count = (held.get(workspaceId) ?? 0) + by
    free -= by
    if (count > 0) held.set(workspaceId, count)
    else held.delete(workspaceId)
  }
  return {
    full: () => [...held].filter(([, count]) => count >= free).map(([workspaceId]) => workspaceId),
    take: (workspaceId) => change(workspaceId, 1),
    leave: (workspaceId) => change(workspaceId, -1),
  }
}

/** Spreads the starts of jobs evenly over a second. */
export interface Throttle {
  /** The number of jobs that can start at once: those of a second, and at least one. */
  most: number
  /** Returns the milliseconds until more can start; 0 if some can start now. */
  wait(): number
  /** Counts jobs that start now. */
  take(count: number): void
}

/** Creates a throttle. @param now a clock that never goes back, in milliseconds */
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
