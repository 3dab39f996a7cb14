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
    freeSlot: (workspaceId) => change(workspaceId, -1),
  }
}
