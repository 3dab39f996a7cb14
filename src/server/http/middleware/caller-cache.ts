/** The lifetime of cached callers. A revocation must take effect within two seconds. */
const CACHE_MS = 1_000
const MAX_CACHED = 10_000
const LAST_USED_MS = 60_000

/** Finds the caller of a request by the digest of its secret. */
export type FindCaller<C> = (digest: string, at: Date) => Promise<C | undefined>

/** Creates a cache of callers. Concurrent requests share a read. */
export function createCallerCache<C>(read: (digest: string) => Promise<C | undefined>): FindCaller<C> {
  const cache = new Map<string, { caller: C; readAt: number }>()
  const reading = new Map<string, Promise<C | undefined>>()

  /** Reads a caller once for concurrent requests, such as streams that check it at the same time. */
  function readOnce(digest: string): Promise<C | undefined> {
    const known = reading.get(digest)
    if (known) return known
    const found = read(digest).finally(() => reading.delete(digest))
    reading.set(digest, found)
    return found
  }

  return async (digest, at) => {
    const cached = cache.get(digest)
    const age = cached ? at.getTime() - cached.readAt : Number.NaN
    // Ignore an entry from the future, so that old entries expire even if the clock was set back.
    if (cached && age >= 0 && age < CACHE_MS) return cached.caller
    const caller = await readOnce(digest)
    // Do not cache invalid secrets, so that they do not evict valid ones from the cache.
    if (!caller) return undefined
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(digest, { caller, readAt: at.getTime() })
    return caller
  }
}

/** A caller whose last use is stored. */
interface Used {
  id: string
  workspaceId: string
  lastUsedAt: Date | null
}

/** Creates a function that stores when a caller was last used, at most once a minute. */
export function createUseNotes(
  store: (used: Used, at: Date) => Promise<void>,
  onError: (error: unknown, used: Used) => void,
): (used: Used, at: Date) => void {
  const lastUsed = new Map<string, number>()
  return (used, at) => {
    const previous = lastUsed.get(used.id) ?? used.lastUsedAt?.getTime() ?? 0
    if (Math.abs(at.getTime() - previous) < LAST_USED_MS) return
    if (lastUsed.size >= MAX_CACHED) lastUsed.clear()
    lastUsed.set(used.id, at.getTime())
    store(used, at).catch((error: unknown) => onError(error, used))
  }
}
