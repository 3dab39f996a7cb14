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
