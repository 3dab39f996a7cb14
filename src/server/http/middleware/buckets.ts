/** How many requests a key may send: a burst at once (one at least), which comes back at so many a second. */
export interface Rate {
  perSecond: number
  burst: number
}

/** Rate limits by key. Times are seconds of any clock that never goes back. */
export interface Buckets {
  /** Lets a request through (undefined), or says in how many seconds it may come; one that costs more counts for several. */
  take(key: string, now: number, cost?: number): number | undefined
  /** What this process let through, by key: counted up while the key is in use, and told for a while after. */
  usage(now: number): Record<string, number>
  /** Requests of a key that another process let through since it was last heard. */
  merge(from: string, key: string, count: number, now: number): void
  /** Everything was told and heard: from now on so many processes, this one included, share what is left. */
  share(processes: number, now: number): void
}

interface Bucket {
  /** What is left in the whole fleet as far as is known; below zero where others spent what was spent here too. */
  level: number
  filledAt: number
  /** What this process may take of it before it has heard the others again. */
  allowance: number
  usage: number
  spentAt: number
  knownSince: number
  /** When each other process was last heard to let requests of the key through. */
  others: Map<string, number>
}

/** A process that let nothing through for so long has no share; so long a new key is shared by all of them. */
const ACTIVE_SECONDS = 1
/** So long a count is told after it last rose, so that nobody misses it. */
const TOLD_SECONDS = 5
/** Keys that are told at once; of more, those that spent least are limited here alone. */
const MAX_TOLD = 1_000

/**
 * Token buckets that several processes draw on. Each keeps a copy, takes no more than its share of what is left until it
 * has heard again what the others took, and gives back afterwards what was taken twice.
 */
export function createBuckets({ perSecond, burst }: Rate): Buckets {
  const capacity = Math.max(1, burst)
  const buckets = new Map<string, Bucket>()
  let instances = 1

  function open(key: string, now: number): Bucket {
    const bucket = buckets.get(key) ?? {
      level: capacity,
      filledAt: now,
      allowance: Math.max(1, capacity / instances),
      usage: 0,
      spentAt: now,
      knownSince: now,
      others: new Map(),
    }
    buckets.set(key, bucket)
    return bucket
  }

  function fill(bucket: Bucket, now: number): void {
    const added = (now - bucket.filledAt) * perSecond
    bucket.filledAt = now
    bucket.level = Math.min(capacity, bucket.level + added)
    bucket.allowance += added / users(bucket, now)
  }

  /** Processes that let requests of the key through; all of them until each had the time to say so. */
  function users(bucket: Bucket, now: number): number {
    if (now - bucket.knownSince < ACTIVE_SECONDS) return instances
    const active = [...bucket.others.values()].filter((heardAt) => now - heardAt < ACTIVE_SECONDS)
    return Math.min(instances, 1 + active.length)
  }

  return {
    take(key, now, cost = 1) {
      const bucket = open(key, now)
      fill(bucket, now)
      const left = instances === 1 ? bucket.level : Math.min(bucket.level, bucket.allowance)
      if (left < cost) return (cost - left) / perSecond
      bucket.level -= cost
      bucket.allowance -= cost
      bucket.usage += cost
      bucket.spentAt = now
      return undefined
    },

    usage(now) {
      const told: [string, number][] = []
      for (const [key, bucket] of buckets) {
        // Whoever hears of the key again takes its count for a new one.
        if (now - bucket.spentAt > TOLD_SECONDS) bucket.usage = 0
        if (bucket.usage > 0) told.push([key, bucket.usage])
      }
      if (told.length > MAX_TOLD) {
        told.sort(([, one], [, other]) => other - one)
        for (const [key] of told.splice(MAX_TOLD)) buckets.get(key)!.usage = 0
      }
      return Object.fromEntries(told)
    },

    merge(from, key, count, now) {
      const bucket = open(key, now)
      fill(bucket, now)
      // Nobody is shut out for longer than a second more than the burst takes to come back.
      bucket.level = Math.max(-burst - perSecond, bucket.level - count)
      bucket.others.set(from, now)
    },

    share(processes, now) {
      instances = processes
      for (const [key, bucket] of buckets) {
        fill(bucket, now)
        if (bucket.usage === 0 && bucket.level === capacity) buckets.delete(key)
        // At least one: of a small limit no share would be a whole request.
        else bucket.allowance = Math.max(1, bucket.level / users(bucket, now))
      }
    },
  }
}
