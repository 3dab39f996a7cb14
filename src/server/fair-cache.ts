/** What an entry takes beside its bytes, more or less. */
const ENTRY_BYTES = 200

interface Kept {
  bytes: number
  /** The one that was asked for last stands last. */
  entries: Map<string, Buffer>
}

/** Bytes by workspace and key. */
export interface FairCache {
  get(workspaceId: string, key: string): Buffer | undefined
  /** Of a key that is not there. */
  set(workspaceId: string, key: string, value: Buffer): void
  delete(workspaceId: string, key: string): void
}

/**
 * Keeps what workspaces used last. When it is full, the workspace that has most in it loses what it used longest ago.
 * @param maxBytes of all workspaces
 */
export function createFairCache(maxBytes: number): FairCache {
  const workspaces = new Map<string, Kept>()
  let total = 0

  function drop(): void {
    const [workspaceId, largest] = [...workspaces].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))
    remove(workspaceId, largest.entries.keys().next().value!)
  }

  function remove(workspaceId: string, key: string): void {
    const kept = workspaces.get(workspaceId)
    const value = kept?.entries.get(key)
    if (!kept || !value) return
    kept.entries.delete(key)
    count(kept, -value.length - ENTRY_BYTES)
    if (kept.entries.size === 0) workspaces.delete(workspaceId)
  }

  function count(kept: Kept, bytes: number): void {
    kept.bytes += bytes
    total += bytes
  }

  return {
    get(workspaceId, key) {
      const entries = workspaces.get(workspaceId)?.entries
      const value = entries?.get(key)
      if (!entries || !value) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(workspaceId, key, value) {
      const kept: Kept = workspaces.get(workspaceId) ?? { bytes: 0, entries: new Map() }
      workspaces.set(workspaceId, kept)
      kept.entries.set(key, value)
      count(kept, value.length + ENTRY_BYTES)
      while (total > maxBytes) drop()
    },
    delete: remove,
  }
}
