/** Returns the cached value of a key, or loads and caches it. Neither an error nor `undefined` is cached. */
export type LoadingCache<Value> = (key: string, load: () => Promise<Value>) => Promise<Value>

/**
 * Creates a cache of the most recently used values, up to `maxBytes` in total. Concurrent callers share one load.
 */
export function createLoadingCache<Value>(maxBytes: number, bytesOf: (value: Value) => number): LoadingCache<Value> {
  // A Map keeps insertion order, and a used value is inserted again, so the first value is the least recently used one.
  const kept = new Map<string, Value>()
  const loading = new Map<string, Promise<Value>>()
  let total = 0

  function keep(key: string, value: Value): void {
    kept.set(key, value)
    total += bytesOf(value)
    for (const [oldest, old] of kept) {
      if (total <= maxBytes) break
      kept.delete(oldest)
      total -= bytesOf(old)
    }
  }

  async function loadAndKeep(key: string, load: () => Promise<Value>): Promise<Value> {
    try {
      const value = await load()
      if (value !== undefined) keep(key, value)
      return value
    } finally {
      loading.delete(key)
    }
  }

  return async (key, load) => {
    const known = kept.get(key)
    if (known !== undefined) {
      kept.delete(key)
      kept.set(key, known)
      return known
    }
    const running = loading.get(key) ?? loadAndKeep(key, load)
    loading.set(key, running)
    return running
  }
}
