/** The approximate overhead of a cache entry, in bytes. */
const ENTRY_BYTES = 200

interface Kept<Value> {
  bytes: number
  /** The values by key, the most recently used value last. */
  entries: Map<string, Value>
}

/**
 * Creates a cache of recently used values. When it is full, the workspace with the most bytes loses its least recently
 * used value.
 * @param maxBytes the maximum size of the values of all workspaces
 * @param bytesOf the size of a value, which must not change
 */
export function createFairCache<Value>(maxBytes: number, bytesOf: (value: Value) => number) {
  const workspaces = new Map<string, Kept<Value>>()
  let total = 0

  function evictOne(): void {
    const [workspaceId, largest] = [...workspaces].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))
    remove(workspaceId, largest.entries.keys().next().value!)
  }

  function remove(workspaceId: string, key: string): void {
    const kept = workspaces.get(workspaceId)
    const value = kept?.entries.get(key)
    if (!kept || value === undefined) return
    kept.entries.delete(key)
    count(kept, -bytesOf(value) - ENTRY_BYTES)
    if (kept.entries.size === 0) workspaces.delete(workspaceId)
  }

  function count(kept: Kept<Value>, bytes: number): void {
    kept.bytes += bytes
    total += bytes
  }

  return {
    get(workspaceId: string, key: string): Value | undefined {
      const entries = workspaces.get(workspaceId)?.entries
      const value = entries?.get(key)
      if (!entries || value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(workspaceId: string, key: string, value: Value): void {
      remove(workspaceId, key)
      const kept: Kept<Value> = workspaces.get(workspaceId) ?? { bytes: 0, entries: new Map() }
      workspaces.set(workspaceId, kept)
      kept.entries.set(key, value)
      count(kept, bytesOf(value) + ENTRY_BYTES)
      while (total > maxBytes) evictOne()
    },
    delete: remove,
  }
}

/** Creates a fair cache that loads missing values. Concurrent callers share one load. */
export function createLoadingCache<Value>(maxBytes: number, bytesOf: (value: Value) => number) {
  const kept = createFairCache<Value>(maxBytes, bytesOf)
  const loading = new Map<string, Promise<Value>>()

  async function loadAndKeep(key: string, load: () => Promise<Value>, owner: string): Promise<Value> {
    const value = await load()
    if (value !== undefined) kept.set(owner, key, value)
    return value
  }

  return {
    /**
     * Returns the cached value of a key, or loads and caches it. Neither an error nor `undefined` is cached.
     * @param owner the workspace of the value. By default, all workspaces share the value
     */
    async find(key: string, load: () => Promise<Value>, owner = ''): Promise<Value> {
      const known = kept.get(owner, key)
      if (known !== undefined) return known
      const place = `${owner} ${key}`
      const running = loading.get(place)
      if (running) return running
      const started = loadAndKeep(key, load, owner)
      loading.set(place, started)
      try {
        return await started
      } finally {
        loading.delete(place)
      }
    },
    delete: (key: string, owner: string) => kept.delete(owner, key),
  }
}
