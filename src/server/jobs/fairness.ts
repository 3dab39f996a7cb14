import type { Leave } from '../http/thread.ts'

/** Who has how many of the slots of a queue. */
export interface Shares {
  /** Workspaces that have to wait until a slot becomes free. */
  full(): string[]
  take(workspaceId: string): void
  nack(workspaceId: string): void
}

/**
 * Shares slots among workspaces. One may take another slot while it holds fewer than are free: alone it comes to half of
 * them, two to a third each, and however long theirs are held, slots are left for those who come with their first.
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
    nack: (workspaceId) => change(workspaceId, -1),
  }
}

/**
 * Keeps jobs that may stop the process away from others, so that nothing else lapses with them. Either any number of batches
 * are in hand, or one that is alone. Nobody waits for long: what holds up others for so long (PATIENCE_MS) is alone no more, and
 * what waits for others so long begins beside them. Those that are alone follow each other without others in between, since each
 * would else wait anew for all that is in hand; then they rest for as long as they kept the others out.
 */
export interface Alone {
  /** Waits while somebody is alone, or is about to be. */
  enter(): Promise<Leave>
  enterAlone(): Promise<Leave>
}

/** What takes longer, or waits for a network, has others beside it again. */
export const PATIENCE_MS = 2_000

/**
 * So long after one waited in vain the next do not wait: what did not leave then, such as the fan-out of a large broadcast, stays, and
 * each that waits holds up all others meanwhile.
 */
const VAIN_MS = 10_000

/** Whoever is to be alone next comes within so long, or others come in: the time of a look for a job. */
const NEXT_MS = 100

/** Those that are alone, one after the other. */
interface Stay {
  isFree: boolean
  untilNext: NodeJS.Timeout | undefined
  end(): void
}

/** Nobody is inside yet: see Alone. */
export function createAlone(patienceMs = PATIENCE_MS): Alone {
  let inside = 0
  let stay: Stay | undefined
  let restsUntil = Number.NEGATIVE_INFINITY
  let vainUntil = Number.NEGATIVE_INFINITY
  const entering: (() => void)[] = []
  const enteringAlone: (() => void)[] = []

  /** Those who wait for one that is alone come in before the next one is. */
  function tell(): void {
    for (const wake of [...entering.splice(0), ...enteringAlone.splice(0)]) wake()
  }

  /** Whoever wakes looks again and takes its place in one go, since others wake at the same moment. */
  function change(some: (() => void)[]): Promise<void> {
    return new Promise((resolve) => some.push(resolve))
  }

  async function begin(): Promise<Stay> {
    const begun: Stay = { isFree: false, untilNext: undefined, end: () => undefined }
    stay = begun
    let isLate = performance.now() < vainUntil
    const late = setTimeout(() => {
      isLate = true
      vainUntil = performance.now() + VAIN_MS
      tell()
    }, patienceMs)
    while (inside > 0 && !isLate) await change(enteringAlone)
    clearTimeout(late)
    const began = performance.now()
    const limit = setTimeout(() => begun.end(), patienceMs)
    begun.end = () => {
      if (stay !== begun) return
      clearTimeout(limit)
      clearTimeout(begun.untilNext)
      stay = undefined
      restsUntil = performance.now() + (performance.now() - began)
      tell()
    }
    return begun
  }

  return {
    async enter() {
      while (stay !== undefined) await change(entering)
      inside += 1
      return () => {
        inside -= 1
        tell()
      }
    },

    async enterAlone() {
      const rest = restsUntil - performance.now()
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest))
      while (stay?.isFree === false) await change(enteringAlone)
      const current = stay ?? (await begin())
      clearTimeout(current.untilNext)
      current.isFree = false
      return () => {
        if (stay !== current) return
        current.isFree = true
        current.untilNext = setTimeout(current.end, NEXT_MS)
        tell()
      }
    },
  }
}
