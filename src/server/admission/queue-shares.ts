import { createCounters } from './counters.ts'

/**
 * Shares the slots of a job queue among workspaces. A workspace can take another slot while it holds fewer slots than
 * are free: a single workspace gets half of the slots, and two workspaces get a third each. Slots therefore stay free
 * for other workspaces, even if jobs hold their slots for a long time.
 */
export function createShares(slots: number) {
  const held = createCounters()
  return {
    full: () => held.keys().filter((workspaceId) => held.of(workspaceId) >= slots - held.total()),
    take: (workspaceId: string) => held.add(workspaceId, 1),
    freeSlot: (workspaceId: string) => held.add(workspaceId, -1),
  }
}
