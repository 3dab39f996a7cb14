import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../../core/errors.ts'
import { monotonicSeconds } from '../../monotonic-clock.ts'
import { createPublicGate, type PublicGate } from './public-gate.ts'

/**
 * Lets a key through, or refuses it.
 * @throws ApiError RATE_LIMITED with Retry-After
 */
export type Limit = (key: string, cost?: number, party?: string) => void

/** All rate limits of a server. */
export interface Limits {
  /** Requests with a token, by its id; of doors, by their project, with each door as a party. */
  token: Limit
  /** Requests without one, by client address. */
  byAddress: Record<AddressLimit, Limit>
  /** Removals that leave a pass in no wallet of Apple, by the pass. */
  removals: Limit
  /** How much of what needs no token is answered at once. */
  publicGate: PublicGate
  /** What counts the requests of tokens, for sharing with other servers; undefined where the limit is off. */
  buckets: Buckets | undefined
}

/** Requests a second for each client address, at each server. */
const ADDRESS_RATES = {
  /** Opened links, and whatever was refused: guesses. */
  address: { perSecond: 20, burst: 100 },
  /** What is the same for everybody: pages, the description, images. */
  files: { perSecond: 50, burst: 200 },
  /** Phones and platforms: carriers put thousands of phones behind one address. */
  wallets: { perSecond: 500, burst: 2_000 },
  /** Balancers, which must not take a busy server for a dead one. */
  health: { perSecond: 100, burst: 200 },
} as const satisfies Record<string, Rate>

/**
 * Whoever holds a pass may add it again after each removal, and both are told to its workspace as events, which are kept, sent to
 * webhooks and counted: nobody changes his mind more often than this.
 */
const REMOVAL_RATE: Rate = { perSecond: 1 / 60, burst: 20 }

/** What an address may ask for so often without a token. */
export type AddressLimit = keyof typeof ADDRESS_RATES

/**
 * The limits of tokens and of addresses at this process.
 * @param rate of each token; no requests a second turn every limit of a token or an address off
 */
export function createLimits(rate: Rate): Limits {
  const isOff = rate.perSecond === 0
  const own = (of: Rate, name: string): Limit => (isOff ? () => undefined : createLimit(createExpiringCache(of), name))
  const removals = own(REMOVAL_RATE, 'removal')
  const byAddress = Object.fromEntries(
    Object.entries(ADDRESS_RATES).map(([name, addressRate]) => [name, own(addressRate, name)]),
  ) as Limits['byAddress']
  if (isOff) {
    const publicGate = createPublicGate({ atOnceByAddress: Infinity, waitingByAddress: Infinity })
    return { token: () => undefined, byAddress, removals, publicGate, buckets: undefined }
  }
  const buckets = createBuckets(rate)
  return { token: createLimit(buckets, 'token'), byAddress, removals, publicGate: createPublicGate(), buckets }
}

/** A rejection costs nearly what an answer costs: whoever does not wait when told to has to, a little. */
const REFUSED_AFTER_MS = 500

/** So many rejections of one key are kept back at a time, so that they never hold the connections of everybody. */
const MAX_KEPT_BACK = 64

/** The same limit, which keeps a rejection back for a while. */
export function refuseSlowly(limit: Limit): (key: string, party?: string) => Promise<void> {
  const keptBack = new Map<string, number>()

  async function keepBack(key: string): Promise<void> {
    const others = keptBack.get(key) ?? 0
    if (others >= MAX_KEPT_BACK) return
    keptBack.set(key, others + 1)
    await sleep(REFUSED_AFTER_MS)
    const left = keptBack.get(key)! - 1
    if (left === 0) keptBack.delete(key)
    else keptBack.set(key, left)
  }

  return async (key, party) => {
    try {
      limit(key, 1, party)
    } catch (rejection) {
      await keepBack(key)
      throw rejection
    }
  }
}

function createLimit(buckets: Pick<Buckets, 'take'>, name: string): Limit {
  return (key, cost, party) => {
    const wait = buckets.take(key, monotonicSeconds(), cost, party)
    if (wait === undefined) return
    const seconds = Math.max(1, Math.ceil(wait))
    throw new ApiError('RATE_LIMITED', {
      message: `Too many requests; wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
      forLog: { limit: name },
    })
  }
}

const FORGET_SECONDS = 10

/** Buckets of this process only. Deletes those that are full again, at most every 10 seconds. */
export function createExpiringCache(rate: Rate): Pick<Buckets, 'take' | 'size'> {
  const buckets = createBuckets(rate)
  let forgottenAt = monotonicSeconds()
  return {
    take(key, now, cost, party) {
      if (now - forgottenAt > FORGET_SECONDS) {
        forgottenAt = now
        buckets.usage(now)
        buckets.share(1, now)
      }
      return buckets.take(key, now, cost, party)
    },
    size: buckets.size,
  }
}

/** How many requests a key may send: a burst at once (one at least), which comes back at so many a second. */
interface Rate {
  perSecond: number
  burst: number
}

/** Rate limits by key. Times are seconds of any clock that never goes back. */
export interface Buckets {
  /**
   * Lets a request through (undefined), or returns in how many seconds it may come; one that costs more counts for several.
   * Rejects a party of a shared key that would use more than it leaves to the other parties.
   */
  take(key: string, now: number, cost?: number, party?: string): number | undefined
  /** What this process let through, by key: counted up while the key is in use, and told for a while after. */
  usage(now: number): Record<string, number>
  /** Requests of a key that another process let through since its usage was last read. */
  merge(from: string, key: string, count: number, now: number): void
  /** All usage was written and read: from now on so many processes, this one included, share what is left. */
  share(processes: number, now: number): void
  /** The number of keys in memory. */
  size(): number
}

interface Bucket {
  /** What is left in the whole fleet as far as is known; below zero where others used what was used here too. */
  level: number
  filledAt: number
  /** What this process may take of it before it has read the others' usage again. */
  allowance: number
  usage: number
  spentAt: number
  knownSince: number
  /** When each other process was last seen to let requests of the key through. */
  others: Map<string, number>
  /** The part of the level that each party used, divided by `partScale`: a refill reduces all parts in proportion. */
  parts: Map<string, number>
  partScale: number
}

/** A process that let nothing through for so long has no share; so long a new key is shared by all of them. */
const ACTIVE_SECONDS = 1
/** So long a count is told after it last rose, so that nobody misses it. */
const TOLD_SECONDS = 5
/** Parts are scaled, and the smallest forgotten, when their common factor is below this. */
const LEAST_SCALE = 0.01
const LEAST_PART = 0.01
/** Keys that are told at once; of more, those that used least are limited here alone. */
const MAX_TOLD = 1_000

/**
 * Token buckets that several processes draw on. Each keeps a copy, takes no more than its share of what is left until it
 * has read again what the others took, and gives back afterwards what was taken twice.
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
      parts: new Map(),
      partScale: 1,
    }
    buckets.set(key, bucket)
    return bucket
  }

  function fill(bucket: Bucket, now: number): void {
    const added = (now - bucket.filledAt) * perSecond
    bucket.filledAt = now
    const used = capacity - bucket.level
    bucket.level = Math.min(capacity, bucket.level + added)
    bucket.partScale *= used > 0 ? (capacity - bucket.level) / used : 1
    if (bucket.partScale < LEAST_SCALE) settleParts(bucket)
    bucket.allowance += added / users(bucket, now)
  }

  function settleParts(bucket: Bucket): void {
    for (const [party, part] of bucket.parts) {
      const now = part * bucket.partScale
      if (now < LEAST_PART) bucket.parts.delete(party)
      else bucket.parts.set(party, now)
    }
    bucket.partScale = 1
  }

  /** Processes that let requests of the key through; all of them until each had the time to say so. */
  function users(bucket: Bucket, now: number): number {
    if (now - bucket.knownSince < ACTIVE_SECONDS) return instances
    const active = [...bucket.others.values()].filter((heardAt) => now - heardAt < ACTIVE_SECONDS)
    return Math.min(instances, 1 + active.length)
  }

  return {
    take(key, now, cost = 1, party) {
      const bucket = open(key, now)
      fill(bucket, now)
      const free = instances === 1 ? bucket.level : Math.min(bucket.level, bucket.allowance)
      const part = party === undefined ? 0 : (bucket.parts.get(party) ?? 0) * bucket.partScale
      const left = free - part
      if (left < cost) return (cost - left) / perSecond
      if (party !== undefined) bucket.parts.set(party, (part + cost) / bucket.partScale)
      bucket.level -= cost
      bucket.allowance -= cost
      bucket.usage += cost
      bucket.spentAt = now
      return undefined
    },

    usage(now) {
      const told: [string, number][] = []
      for (const [key, bucket] of buckets) {
        // Whoever reads of the key again takes its count for a new one.
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

    size: () => buckets.size,
  }
}
