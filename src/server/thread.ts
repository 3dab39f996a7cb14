import { FairGate } from '../storage/fair-gate.ts'

/**
 * Shares the one thread of this process among workspaces. While it has time to spare, or one workspace alone is at work,
 * nobody waits. While several want more than there is, each has a few requests and batches of jobs in work; the others of
 * its own wait until those are done. What waits for a network must not hold a place here.
 */
export interface Thread {
  /**
   * A place for a request of a workspace; leave when its work is done.
   * @throws Problem SERVICE_UNAVAILABLE after too long a wait
   */
  enterRequest(workspaceId: string): Promise<Leave>
  /** A place for a batch of jobs of a workspace. */
  enterJobs(workspaceId: string): Promise<Leave>
  close(): void
}

export type Leave = () => void

export interface ThreadOptions {
  /** The part of the time since the last call that the thread was at work, from 0 to 1. */
  measure?: () => number
}

/** How much of the thread's time is used when workspaces begin to wait for each other. */
const SHORT = 0.75

/** How often that is looked at. */
const MEASURE_MS = 100

/** What each of several workspaces has in work while time is short. */
const FEW = 2

/** A workspace that was here so lately counts among those that share. */
const LATELY_MS = 10_000

const PATIENCE_MS = 10_000

export function createThread({ measure = utilization() }: ThreadOptions = {}): Thread {
  const lately = new Map<string, number>()
  let isShort = false

  const places = () =>
    new FairGate({
      places: Number.POSITIVE_INFINITY,
      shareOf: () => (isShort && lately.size > 1 ? FEW : Number.POSITIVE_INFINITY),
    })
  const requests = places()
  const jobs = places()

  async function enter(gate: FairGate, workspaceId: string, patienceMs?: number): Promise<Leave> {
    lately.set(workspaceId, performance.now())
    await gate.enter(workspaceId, patienceMs)
    return () => gate.leave(workspaceId)
  }

  const timer = setInterval(() => {
    isShort = measure() > SHORT
    const since = performance.now() - LATELY_MS
    for (const [workspaceId, at] of lately) if (at < since) lately.delete(workspaceId)
    for (const gate of [requests, jobs]) gate.letIn()
  }, MEASURE_MS).unref()

  return {
    enterRequest: (workspaceId) => enter(requests, workspaceId, PATIENCE_MS),
    enterJobs: (workspaceId) => enter(jobs, workspaceId),
    close: () => clearInterval(timer),
  }
}

function utilization(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}
