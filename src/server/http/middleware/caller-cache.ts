/** The lifetime of cached callers. It is short, because a revocation must take effect within two seconds. */
const CACHE_MS = 1_000
const MAX_CACHED = 10_000
const LAST_USED_MS = 60_000

/** Finds the caller of a request by the digest of its token or session secret. */
export type FindCaller<C> = (digest: string, at: Date) => Promise<C | undefined>

export function createCallerCache<C>(read: (digest: string) => Promise<C | undefined>): FindCaller<C> {
  const cache = new Map<string, { caller: C; readAt: number }>()
  const reading = new Map<string, Promise<C | undefined>>()

  /** Reads a caller once for concurrent requests, such as event streams that check the same token at the same time. */
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
    // If the clock was set back, an entry can be from the future. Ignore it, because it would not expire in time.
    if (cached && age >= 0 && age < CACHE_MS) return cached.caller
    const caller = await readOnce(digest)
    // Do not cache invalid secrets. Otherwise, guesses would evict valid callers from the cache.
    if (!caller) return undefined
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(digest, { caller, readAt: at.getTime() })
    return caller
  }
}

/** A caller for whom the time of the last use is stored. */
interface Used {
  id: string
  workspaceId: string
  lastUsedAt: Date | null
}

/** Creates a function that stores the time of a caller's last use, at most once a minute per caller. */
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
