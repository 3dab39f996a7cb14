import { createCounters } from './counters.ts'

export interface Shares {
  full(): string[]
  take(workspaceId: string): void
  freeSlot(workspaceId: string): void
}

/**
 * Shares the slots of a job queue among workspaces. A workspace can take another slot while it holds fewer slots than
 * are free: a single workspace gets half of the slots, and two workspaces get a third each. Slots therefore stay free
 * for other workspaces, even if jobs hold their slots for a long time.
 */
export function createShares(slots: number): Shares {
  const held = createCounters()
  return {
    full: () => held.keys().filter((workspaceId) => held.of(workspaceId) >= slots - held.total()),
    take: (workspaceId) => held.add(workspaceId, 1),
    freeSlot: (workspaceId) => held.add(workspaceId, -1),
  }
}
