import { performance as eventLoop } from 'node:perf_hooks'
import { FairGate } from '../../storage/db/fair-gate.ts'

/**
 * The event-loop scheduler, which shares time among workspaces. While the event loop has spare time, no work waits.
 * While several workspaces want more than there is, each has a few requests in flight. Large requests and batches of
 * jobs block the event loop, so they wait longer: those of a workspace with more than average use begin when no
 * workspace with less use has work in flight, or after a timeout. A workspace that creates a thousand passes can
 * therefore still scan: between its own small requests, its large ones begin with pauses. Work that waits for the
 * network must not hold a place here.
 */
export interface EventLoopScheduler {
  /**
   * Waits for a place for a request. Leave it when its work is done.
   * @param bytes of its body, the approximate cost of its work; LIST_BYTES for a list
   * @throws ApiError SERVICE_UNAVAILABLE on timeout
   */
  enterRequest(workspaceId: string, bytes: number): Promise<Leave>
  /** Waits for a place for a batch of jobs. */
  enterJobs(workspaceId: string, count: number): Promise<Leave>
  close(): void
}

/** Frees a place. Call it once, even if the work failed. */
export type Leave = () => void

export interface EventLoopSchedulerOptions {
  /** Returns the fraction of time since the last call that the event loop was busy, from 0 to 1. */
  measure?: () => number
}

/** The fraction of busy time above which workspaces wait for each other, for at least BUSY_MS. */
const BUSY = 0.6
const BUSY_MS = 3_000

/** The interval of measurements. */
const MEASURE_MS = 100

/** The fraction of past use that remains after each measurement: a half after two seconds. */
const DECAY = 0.965

/** The number of requests that each of several workspaces has in flight while the event loop is busy. */
const MAX_IN_FLIGHT = 8

/**
 * The number of large requests of a workspace with above-average use, and the time after which it can begin one regardless of
 * others.
 */
const MAX_LARGE_IN_FLIGHT = 1
const YIELD_MS = 250

/** The time after its last request for which a workspace shares the event loop. */
const RECENT_MS = 10_000

/** The bytes and jobs that cost as much as a request without a body. */
const BYTES = 2_048
const JOBS = 4

/** The size from which a body is large. Scans, and other requests of a person, are smaller. */
const LARGE_BYTES = 4_096

/** The size that a list counts as, since any list can read much. */
export const LIST_BYTES = 2 * LARGE_BYTES

/** Whether a body of this size is scheduled as large. */
export const isLarge = (bytes: number) => bytes > LARGE_BYTES

/**
 * The pause before the next large request while small ones of its workspace arrive and the event loop is busy. The pause before
 * the next jobs is a millisecond per previous job. A workspace that issues thousands of passes can therefore still scan
 * (decisions/0028).
 */
const PAUSE_MS = 100

const TIMEOUT_MS = 10_000

interface Party {
  seenAt: number
  /** Work that waits or is in flight. */
  present: number
  inWork: number
  /** The time of its last small request, and the times at which the next large one and the next jobs can begin. */
  smallAt: number
  nextAt: { large: number; jobs: number }
  /** The recent cost of its work, in requests without a body. */
  use: number
}

/** Places of small requests, of large ones, or of batches of jobs. */
interface Places {
  gate: FairGate
  enteredAt: Map<string, number>
}

export function createEventLoopScheduler({
  measure = utilization(),
}: EventLoopSchedulerOptions = {}): EventLoopScheduler {
  /** Workspaces with recent requests, and those of them with work in flight. */
  const recent = new Map<string, Party>()
  const working = new Set<Party>()
  let busyUntil = 0
  let meanUse = 0

  const isBusy = () => performance.now() <= busyUntil
  const mustShare = () => recent.size > 1 && isBusy()

  function partyOf(workspaceId: string): Party {
    const known = recent.get(workspaceId)
    if (known) return known
    const never = Number.NEGATIVE_INFINITY
    const nextAt = { large: never, jobs: never }
    const party = { seenAt: performance.now(), present: 0, inWork: 0, smallAt: never, nextAt, use: 0 }
    recent.set(workspaceId, party)
    return party
  }

  /** Pauses between large requests, or jobs, of a workspace while small ones of it arrive. */
  function afterPause<T>(
    workspaceId: string,
    kind: keyof Party['nextAt'],
    ms: number,
    go: () => Promise<T>,
  ): Promise<T> {
    const party = partyOf(workspaceId)
    const now = performance.now()
    const mustPause = isBusy() && now - party.smallAt <= PAUSE_MS
    const pauseMs = mustPause ? Math.min(Math.max(0, party.nextAt[kind] - now), TIMEOUT_MS) : 0
    party.nextAt[kind] = now + pauseMs + ms
    return pauseMs > 0 ? sleep(pauseMs).then(go) : go()
  }

  function shareOfLarge(workspaceId: string, enteredAt = 0): number {
    const { use } = recent.get(workspaceId)!
    if (use <= meanUse) return MAX_IN_FLIGHT
    const yields = [...working].some((other) => other.use < use / 2)
    return yields && performance.now() - enteredAt < YIELD_MS ? 0 : MAX_LARGE_IN_FLIGHT
  }

  function createPlaces(shareOf: typeof shareOfLarge): Places {
    const enteredAt = new Map<string, number>()
    const gate = new FairGate({
      places: Number.POSITIVE_INFINITY,
      shareOf: (workspaceId) =>
        mustShare() ? shareOf(workspaceId, enteredAt.get(workspaceId)) : Number.POSITIVE_INFINITY,
    })
    return { gate, enteredAt }
  }

  const small = createPlaces(() => MAX_IN_FLIGHT)
  const large = createPlaces(shareOfLarge)
  const jobs = createPlaces(shareOfLarge)
  const all = [small, large, jobs]
  const admitNext = () => {
    for (const { gate } of all) gate.admitNext()
  }

  async function enter({ gate, enteredAt }: Places, workspaceId: string, cost: number, timeoutMs?: number) {
    const party = partyOf(workspaceId)
    party.seenAt = performance.now()
    party.present += 1
    await gate.enter(workspaceId, timeoutMs).catch((error: unknown) => {
      party.present -= 1
      throw error
    })
    enteredAt.set(workspaceId, performance.now())
    party.inWork += 1
    party.use += cost
    working.add(party)
    return () => {
      party.present -= 1
      party.inWork -= 1
      if (party.inWork === 0) working.delete(party)
      gate.leave(workspaceId)
      admitNext()
    }
  }

  const timer = setInterval(() => {
    const now = performance.now()
    if (measure() > BUSY) busyUntil = now + BUSY_MS
    const since = now - RECENT_MS
    let total = 0
    for (const [workspaceId, party] of recent) {
      party.use *= DECAY
      total += party.use
      if (party.seenAt >= since || party.present > 0) continue
      recent.delete(workspaceId)
      for (const { enteredAt } of all) enteredAt.delete(workspaceId)
    }
    meanUse = total / Math.max(1, recent.size)
    admitNext()
  }, MEASURE_MS).unref()

  return {
    enterRequest(workspaceId, bytes) {
      const cost = 1 + bytes / BYTES
      if (!isLarge(bytes)) {
        partyOf(workspaceId).smallAt = performance.now()
        return enter(small, workspaceId, cost, TIMEOUT_MS)
      }
      const go = () => enter(large, workspaceId, cost, TIMEOUT_MS)
      // A person at a door can be waiting for a list, too.
      return bytes > LIST_BYTES ? afterPause(workspaceId, 'large', PAUSE_MS, go) : go()
    },
    enterJobs: (workspaceId, count) =>
      afterPause(workspaceId, 'jobs', Math.min(count, PAUSE_MS), () => enter(jobs, workspaceId, 1 + count / JOBS)),
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

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
