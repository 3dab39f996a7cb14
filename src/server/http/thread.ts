import { performance as eventLoop } from 'node:perf_hooks'
import { FairGate } from '../../storage/db/fair-gate.ts'

/**
 * Shares the one thread of this process among workspaces. While it has time to spare nobody waits. While several want more than
 * there is, each has a few requests in work. Large ones and batches of jobs, which keep the thread from everybody, wait for more:
 * of a workspace that uses more than its part each begins when no other that uses less is at work, or after a while. So whoever
 * sends a thousand passes goes on scanning meanwhile; and beside small requests of its own a workspace begins them with room in
 * between. What waits for a network must not hold a place here.
 */
export interface Thread {
  /**
   * A place for a request of a workspace; leave when its work is done.
   * @param bytes of its body, which is what its work costs more or less; LIST_BYTES for a list
   * @throws ApiError SERVICE_UNAVAILABLE after too long a wait
   */
  enterRequest(workspaceId: string, bytes: number): Promise<Leave>
  /** A place for a batch of jobs of a workspace. */
  enterJobs(workspaceId: string, count: number): Promise<Leave>
  close(): void
}

/** Ends a turn at the thread; to be called once, also where the work failed. */
export type Leave = () => void

/** How the load of the thread is measured. */
export interface ThreadOptions {
  /** The part of the time since the last call that the thread was at work, from 0 to 1. */
  measure?: () => number
}

/** How much of the thread's time is used when workspaces begin to wait for each other, and for so long at least. */
const SHORT = 0.6
const SHORT_MS = 3_000

/** How often that is looked at. */
const MEASURE_MS = 100

/** What is left after that of the use that was made before: half of it after two seconds. */
const REMEMBERED = 0.965

/** What each of several workspaces has in work while time is short. */
const FEW = 8

/** What one that uses more than the mean has in work of large ones; and after so long it may begin whoever else works. */
const ONE = 1
const YIELD_MS = 250

/** A workspace that was here so lately counts among those that share. */
const LATELY_MS = 10_000

/** What costs as much again as a request without a body. */
const BYTES = 2_048
const JOBS = 4

/** A scan, and all that a person does, has a smaller body. */
const LARGE_BYTES = 4_096

/** What a list counts as: it may read much, whatever it asks for. */
export const LIST_BYTES = 2 * LARGE_BYTES

/** Whether a body of so many bytes takes a turn of its own. */
export const isLarge = (bytes: number) => bytes > LARGE_BYTES

/**
 * While small requests of its workspace come and time is short, the next large one waits for so long, and the next jobs for a
 * millisecond for each of those before: who issues thousands of passes goes on scanning (decisions/0028).
 */
const ROOM_MS = 100

const PATIENCE_MS = 10_000

interface Party {
  seenAt: number
  /** Pieces of work that wait, or are in work. */
  present: number
  inWork: number
  /** When its last small request came, and when the next large one and the next jobs may begin beside such. */
  smallAt: number
  nextAt: { large: number; jobs: number }
  /** What its work cost of late, in requests without a body. */
  use: number
}

/** Small requests of workspaces, large ones, or their batches of jobs. */
interface Places {
  gate: FairGate
  enteredAt: Map<string, number>
}

/** Turns at the one thread, taken by workspace: see Thread. */
export function createThread({ measure = utilization() }: ThreadOptions = {}): Thread {
  /** Those that were here lately, and of them those that have something in work. */
  const lately = new Map<string, Party>()
  const working = new Set<Party>()
  let shortUntil = 0
  let meanUse = 0

  const isShort = () => performance.now() <= shortUntil
  const areSeveralShort = () => lately.size > 1 && isShort()

  function partyOf(workspaceId: string): Party {
    const known = lately.get(workspaceId)
    if (known) return known
    const never = Number.NEGATIVE_INFINITY
    const nextAt = { large: never, jobs: never }
    const party = { seenAt: performance.now(), present: 0, inWork: 0, smallAt: never, nextAt, use: 0 }
    lately.set(workspaceId, party)
    return party
  }

  /** Leaves room between large ones, or jobs, of a workspace while small ones of it come. */
  function afterRoom<T>(
    workspaceId: string,
    kind: keyof Party['nextAt'],
    ms: number,
    go: () => Promise<T>,
  ): Promise<T> {
    const party = partyOf(workspaceId)
    const now = performance.now()
    const isBeside = isShort() && now - party.smallAt <= ROOM_MS
    const early = isBeside ? Math.min(Math.max(0, party.nextAt[kind] - now), PATIENCE_MS) : 0
    party.nextAt[kind] = now + early + ms
    return early > 0 ? sleep(early).then(go) : go()
  }

  function shareOfLarge(workspaceId: string, enteredAt = 0): number {
    const { use } = lately.get(workspaceId)!
    if (use <= meanUse) return FEW
    const yields = [...working].some((other) => other.use < use / 2)
    return yields && performance.now() - enteredAt < YIELD_MS ? 0 : ONE
  }

  function createPlaces(shareOf: typeof shareOfLarge): Places {
    const enteredAt = new Map<string, number>()
    const gate = new FairGate({
      places: Number.POSITIVE_INFINITY,
      shareOf: (workspaceId) =>
        areSeveralShort() ? shareOf(workspaceId, enteredAt.get(workspaceId)) : Number.POSITIVE_INFINITY,
    })
    return { gate, enteredAt }
  }

  const small = createPlaces(() => FEW)
  const large = createPlaces(shareOfLarge)
  const jobs = createPlaces(shareOfLarge)
  const all = [small, large, jobs]
  const letIn = () => {
    for (const { gate } of all) gate.letIn()
  }

  async function enter({ gate, enteredAt }: Places, workspaceId: string, cost: number, patienceMs?: number) {
    const party = partyOf(workspaceId)
    party.seenAt = performance.now()
    party.present += 1
    await gate.enter(workspaceId, patienceMs).catch((error: unknown) => {
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
      letIn()
    }
  }

  const timer = setInterval(() => {
    const now = performance.now()
    if (measure() > SHORT) shortUntil = now + SHORT_MS
    const since = now - LATELY_MS
    let total = 0
    for (const [workspaceId, party] of lately) {
      party.use *= REMEMBERED
      total += party.use
      if (party.seenAt >= since || party.present > 0) continue
      lately.delete(workspaceId)
      for (const { enteredAt } of all) enteredAt.delete(workspaceId)
    }
    meanUse = total / Math.max(1, lately.size)
    letIn()
  }, MEASURE_MS).unref()

  return {
    enterRequest(workspaceId, bytes) {
      const cost = 1 + bytes / BYTES
      if (!isLarge(bytes)) {
        partyOf(workspaceId).smallAt = performance.now()
        return enter(small, workspaceId, cost, PATIENCE_MS)
      }
      const go = () => enter(large, workspaceId, cost, PATIENCE_MS)
      // Who waits for a list may stand at a door, too.
      return bytes > LIST_BYTES ? afterRoom(workspaceId, 'large', ROOM_MS, go) : go()
    },
    enterJobs: (workspaceId, count) =>
      afterRoom(workspaceId, 'jobs', Math.min(count, ROOM_MS), () => enter(jobs, workspaceId, 1 + count / JOBS)),
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
