import { randomUUID } from 'node:crypto'
import type { Services } from '../context.ts'

/** Something that one process of the fleet does for all of them. */
export interface Lease {
  /** Takes the lease where it is free and renews it in time; true while it is this process's. */
  hold(): Promise<boolean>
  /** Lets another take it at once. */
  release(): Promise<void>
}

/** So long the others wait for a holder that died. */
const LEASE_SECONDS = 5

export function createLease({ store, clock }: Pick<Services, 'store' | 'clock'>, name: string): Lease {
  const holder = randomUUID()
  let heldUntil: number | undefined

  /** Nobody else takes it meanwhile, so that nothing need be read. A clock that was set does not count. */
  function isSafe(now: number): boolean {
    const left = (heldUntil ?? now) - now
    return left > (LEASE_SECONDS * 1000) / 2 && left <= LEASE_SECONDS * 1000
  }

  return {
    async hold() {
      const at = clock()
      if (isSafe(at.getTime())) return true
      heldUntil = undefined
      if (!(await store.leases.isFree(name, holder, at, LEASE_SECONDS))) return false
      const isTaken = await store.transaction((tx) => tx.leases.take(name, holder, at, LEASE_SECONDS))
      if (isTaken) heldUntil = at.getTime() + LEASE_SECONDS * 1000
      return isTaken
    },
    async release() {
      heldUntil = undefined
      await store.transaction((tx) => tx.leases.release(name, holder))
    },
  }
}
