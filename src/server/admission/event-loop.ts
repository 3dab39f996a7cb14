import { performance as eventLoop } from 'node:perf_hooks'
import { BUSY, BUSY_MS, LARGE_BYTES, turns, UNNOTICED_MS } from './constants.ts'
import { FairQueue, type Leave } from './fair-queue.ts'

/**
 * Shares the event loop of this process. Nothing waits while the event loop has time to spare, or while only one kind of
 * work of one workspace is present. Otherwise workspaces take turns, and so do large requests and jobs of one workspace.
 * While a workspace sends small requests, its own large requests and jobs also begin some time apart (decisions/0028). Do
 * not hold a turn while you wait for a network.
 */
export interface Thread {
  /**
   * Waits for a turn of a request. End it when its work is done.
   * @param bytes the size of the body, or LIST_BYTES for a list
   * @throws ApiError SERVICE_UNAVAILABLE after a timeout
   */
  enterRequest(workspaceId: string, bytes: number): Promise<Leave>
  /** Waits for a turn of a batch of jobs, with no time limit. */
  enterJobs(workspaceId: string, count: number): Promise<Leave>
  close(): void
}

/** The measurement of the event loop's use. */
export interface ThreadOptions {
  /** Returns the part of the time since the last call that the event loop was busy, from 0 to 1. */
  measure?: () => number
}

/** The size that a list counts for: it may read much, with any parameters. */
export const LIST_BYTES = 2 * LARGE_BYTES

/** Whether a body of this size is large. */
export const isLarge = (bytes: number) => bytes > LARGE_BYTES

/** Creates the event-loop scheduler of a process: see Thread. */
export function createThread({ measure = utilization() }: ThreadOptions = {}): Thread {
  const small = new FairQueue(turns.smallRequests)
  const large = new FairQueue(turns.largeWork)
  /**
   * The last arrival of each kind of work of a workspace, and the time at which its next piece can begin next to small
   * requests.
   */
  const present = new Map<string, { at: number; nextAt: number }>()
  let busyUntil = Number.NEGATIVE_INFINITY

  function note(kind: string) {
    const known = present.get(kind) ?? { at: 0, nextAt: Number.NEGATIVE_INFINITY }
    present.set(kind, known)
    known.at = performance.now()
    return known
  }

  function enter(queue: FairQueue, flow: string, timeoutMs?: number): Promise<Leave> {
    if (present.size <= 1 || performance.now() > busyUntil) return Promise.resolve(() => undefined)
    return queue.enter(flow, timeoutMs === undefined ? {} : { timeoutMs })
  }

  /** As `enter`, and while small requests of the workspace come and the process is busy, `gapMs` after the previous piece. */
  function enterAfterGap(workspaceId: string, kind: string, gapMs: number, timeoutMs?: number): Promise<Leave> {
    const now = performance.now()
    const known = note(kind)
    const smallAt = present.get(smallOf(workspaceId))?.at ?? Number.NEGATIVE_INFINITY
    const isNextToSmall = now <= busyUntil && now - smallAt <= UNNOTICED_MS
    const early = isNextToSmall ? Math.min(Math.max(0, known.nextAt - now), turns.largeWork.timeoutMs) : 0
    known.nextAt = now + early + gapMs
    if (early === 0) return enter(large, kind, timeoutMs)
    return sleep(early).then(() => enter(large, kind, timeoutMs))
  }

  const timer = setInterval(() => {
    const now = performance.now()
    if (measure() > BUSY) busyUntil = now + BUSY_MS
    for (const [kind, { at }] of present) if (now - at > turns.largeWork.timeoutMs) present.delete(kind)
  }, UNNOTICED_MS).unref()

  return {
    enterRequest(workspaceId, bytes) {
      const kind = isLarge(bytes) ? `large requests of ${workspaceId}` : smallOf(workspaceId)
      // A person who waits for a list can also be at a door, so lists have no gaps.
      if (bytes > LIST_BYTES) return enterAfterGap(workspaceId, kind, UNNOTICED_MS)
      note(kind)
      return enter(isLarge(bytes) ? large : small, kind)
    },
    enterJobs: (workspaceId, count) =>
      enterAfterGap(workspaceId, `jobs of ${workspaceId}`, Math.min(count, UNNOTICED_MS), Number.POSITIVE_INFINITY),
    close: () => clearInterval(timer),
  }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const smallOf = (workspaceId: string) => `small requests of ${workspaceId}`

function utilization(): () => number {
  let last = eventLoop.eventLoopUtilization()
  return () => {
    const now = eventLoop.eventLoopUtilization()
    const { utilization } = eventLoop.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}
