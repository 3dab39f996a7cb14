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
 * are in hand, or one that is alone. Nobody waits for long: what holds up others for PATIENCE_MS is alone no more, and what
 * waits for others so long begins beside them.
 */
export interface Alone {
  /** Waits while somebody is alone, or is about to be. */
  enter(): Promise<Leave>
  enterAlone(): Promise<Leave>
}

/** What takes longer, or waits for a network, has others beside it again. */
const PATIENCE_MS = 2_000

/**
 * So long after one waited in vain the next do not wait: what did not leave then, such as the fan-out of a large broadcast, stays, and
 * each that waits holds up all others meanwhile.
 */
const VAIN_MS = 10_000

/** Nobody is inside yet: see Alone. */
export function createAlone(): Alone {
  let inside = 0
  let isTaken = false
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

  return {
    async enter() {
      while (isTaken) await change(entering)
      inside += 1
      return () => {
        inside -= 1
        tell()
      }
    },

    async enterAlone() {
      while (isTaken) await change(enteringAlone)
      isTaken = true
      let isOver = false
      const end = () => {
        if (isOver) return
        isOver = true
        isTaken = false
        tell()
      }
      let isLate = performance.now() < vainUntil
      const late = setTimeout(() => {
        isLate = true
        vainUntil = performance.now() + VAIN_MS
        tell()
      }, PATIENCE_MS)
      while (inside > 0 && !isLate) await change(enteringAlone)
      clearTimeout(late)
      const limit = setTimeout(end, PATIENCE_MS)
      return () => {
        clearTimeout(limit)
        end()
      }
    },
  }
}
