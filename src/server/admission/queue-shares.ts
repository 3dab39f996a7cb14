import { createCounters } from './counters.ts'

export interface Shares {
  full(): string[]
  take(workspaceId: string): void
  freeSlot(workspaceId: string): void
}

/**
 * Shares slots among workspaces. A workspace can take another slot while it holds fewer slots than are free: a single
 * workspace gets half of the slots, and two workspaces get a third each. Some slots therefore stay free for other
 * workspaces, no matter how long slots are held.
 */
export function createShares(slots: number): Shares {
  const held = createCounters()
  return {
    full: () => held.keys().filter((workspaceId) => held.of(workspaceId) >= slots - held.total()),
    take: (workspaceId) => held.add(workspaceId, 1),
    freeSlot: (workspaceId) => held.add(workspaceId, -1),
  }
}
