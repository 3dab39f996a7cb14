import { performance as eventLoop } from 'node:perf_hooks'
import { FairQueue, type Leave, toBusyError } from '../../core/scheduling/fair-queue.ts'

/**
 * Shares the event loop of this process. Nothing waits while the event loop has time to spare, or while only one kind of
 * work of one workspace is there. Otherwise workspaces take turns, and so do heavy requests and jobs of one workspace. Do
 * not hold a turn while you wait for a network.
 */
export interface Thread {
  /**
   * Waits for a turn of a request. End it when its work is done.
   * @param bytes the size of the body, or LIST_BYTES for a list
   * @throws ApiError SERVICE_UNAVAILABLE after TIMEOUT_MS
   */
  enterRequest(workspaceId: string, bytes: number): Promise<Leave>
  /** Waits for a turn of a batch of jobs, with no time limit. */
  enterJobs(workspaceId: string): Promise<Leave>
  close(): void
}

/** How the use of the event loop is measured. */
export interface ThreadOptions {
  /** Returns the part of the time since the last call that the event loop was busy, from 0 to 1. */
  measure?: () => number
}

/** The part of the event loop's time in use from which work takes turns, and for how long at least, in milliseconds. */
const BUSY = 0.6
const BUSY_MS = 3_000

const MEASURE_MS = 100

/** The time for which work that ended counts as present: more than one kind of it has to take turns. */
const PRESENT_MS = 10_000

/** The number of small requests in work, of all workspaces; one has half of them. */
const SMALL_TURNS = 16

/** The number of large requests and batches of jobs in work, of all workspaces; one has one of each. */
const LARGE_TURNS = 4

/** A scan, and all that a person does, has a smaller body. */
const LARGE_BYTES = 4_096

/** The size that a list counts for: it may read much, with any parameters. */
export const LIST_BYTES = 2 * LARGE_BYTES

/** Whether a body of this size is large. */
export const isLarge = (bytes: number) => bytes > LARGE_BYTES

const TIMEOUT_MS = 10_000

/** Creates the event-loop scheduler of a process: see Thread. */
export function createThread({ measure = utilization() }: ThreadOptions = {}): Thread {
  const small = new FairQueue({ places: SMALL_TURNS, perFlow: SMALL_TURNS / 2 })
  const large = new FairQueue({ places: LARGE_TURNS, perFlow: 1 })
  /** When each kind of work of a workspace was last there. */
  const present = new Map<string, number>()
  let busyUntil = Number.NEGATIVE_INFINITY

  async function enter(queue: FairQueue, flow: string, kind: string, timeoutMs?: number): Promise<Leave> {
    present.set(`${kind} of ${flow}`, performance.now())
    if (present.size <= 1 || performance.now() > busyUntil) return () => undefined
    return queue.enter(flow, { timeoutMs }).catch((error: unknown) => {
      throw toBusyError(error)
    })
  }

  const timer = setInterval(() => {
    const now = performance.now()
    if (measure() > BUSY) busyUntil = now + BUSY_MS
    for (const [flow, at] of present) if (now - at > PRESENT_MS) present.delete(flow)
  }, MEASURE_MS).unref()

  return {
    enterRequest: (workspaceId, bytes) =>
      isLarge(bytes)
        ? enter(large, workspaceId, 'large requests', TIMEOUT_MS)
        : enter(small, workspaceId, 'small requests', TIMEOUT_MS),
    enterJobs: (workspaceId) => enter(large, `jobs of ${workspaceId}`, 'jobs'),
    close: () => clearInterval(timer),
  }
}

function utilization(): () => number {
  let last = eventLoop.eventLoopUtilization()
  return () => {
    const now = eventLoop.eventLoopUtilization()
    const { utilization } = eventLoop.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}
