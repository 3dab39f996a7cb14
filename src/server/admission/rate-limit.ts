import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../core/errors.ts'
import { ACTIVE_MS, MAX_NAMES } from '../../storage/db/fair-gate.ts'
import { monotonicSeconds } from '../line-limit.ts'
import { createCounters } from './counters.ts'
import { createPublicGate, type PublicGate } from './public-gate.ts'

/** Counts a request of a key, or rejects the request. @throws ApiError RATE_LIMITED with Retry-After */
export type Limit = (key: string, cost?: number, party?: string) => void

export interface Limits {
  /**
   * The limit of requests with a token, by token ID. The doors of a project share one limit, with each door as a party.
   */
  token: Limit
  /** The limits of requests without a token, by client address. */
  byAddress: Record<AddressLimit, Limit>
  /** The limit of removals of a pass from its last Apple wallet, by pass. */
  removals: Limit
  publicGate: PublicGate
  /** The buckets of the limit by token, which servers share; undefined if the limit is disabled. */
  buckets: Buckets | undefined
}

/** The rates that each server allows: requests per address, and removals of a pass from its last Apple wallet. */
const RATES = {
  /** Opened links and rejected requests, which can be attempts to guess a link or a token. */
  address: { perSecond: 20, burst: 100 },
  /** Files that are the same for all clients: pages, the API description, images. */
  files: { perSecond: 50, burst: 200 },
  /** Requests of phones and platforms. The rate is high: carriers put thousands of phones behind one address. */
  wallets: { perSecond: 500, burst: 2_000 },
  /** Health checks. With a shared limit, a load balancer could mistake a busy server for a stopped one. */
  health: { perSecond: 100, burst: 200 },
  /**
   * Removals of a pass from its last Apple wallet. Without a limit, a holder could remove and add the pass repeatedly,
   * and each removal causes events that are stored, sent to webhooks, and counted.
   */
  removal: { perSecond: 1 / 60, burst: 20 },
} as const satisfies Record<string, Rate>

/** The kinds of requests that are limited by address. */
export type AddressLimit = Exclude<keyof typeof RATES, 'removal'>

/**
 * Creates the limits of tokens and addresses in this process.
 * @param rate the rate of each token. With 0 requests per second, the limits of tokens and addresses are disabled
 */
export function createLimits(rate: Rate): Limits {
  const isOff = rate.perSecond === 0
  const { removal: removals, ...byAddress } = Object.fromEntries(
    Object.entries(RATES).map(([name, own]) => [
      name,
      isOff ? () => undefined : createLimit(createOwnBuckets(own), name),
    ]),
  ) as Record<keyof typeof RATES, Limit>
  if (isOff) {
    const publicGate = createPublicGate({ atOnceByAddress: Infinity, waitingByAddress: Infinity })
    return { token: () => undefined, byAddress, removals, publicGate, buckets: undefined }
  }
  const buckets = createBuckets(rate)
  return { token: createLimit(buckets, 'token'), byAddress, removals, publicGate: createPublicGate(), buckets }
}

/**
 * The delay of rejections. It slows down clients that ignore Retry-After, because a rejection costs almost as much as a
 * response. At most `perKey` rejections of a key wait at a time, so that they cannot occupy all connections.
 */
const DELAYED = { ms: 500, perKey: 64 }

export function rejectSlowly(limit: Limit): (key: string, party?: string) => Promise<void> {
  const keptBack = createCounters()

  async function keepBack(key: string): Promise<void> {
    if (keptBack.of(key) >= DELAYED.perKey) return
    keptBack.add(key, 1)
    await sleep(DELAYED.ms)
    keptBack.add(key, -1)
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

/**
 * @param name the name of the limit in the log
 * @param options.counted the plural name of the counted things, for the error message
 */
export function createLimit(
  buckets: Pick<Buckets, 'take'>,
  name: string,
  { counted = 'requests', details = {} }: { counted?: string; details?: Record<string, unknown> } = {},
): Limit {
  return (key, cost, party) => {
    const wait = buckets.take(key, monotonicSeconds(), cost, party)
    if (wait === undefined) return
    const seconds = Math.max(1, Math.ceil(wait))
    throw new ApiError('RATE_LIMITED', {
      message: `Too many ${counted}; wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
      details,
      forLog: { limit: name },
    })
  }
}

/**
 * Creates buckets that no other process shares. Deletes full buckets, at most once every USAGE_TTL_SECONDS.
 * @param maxKeys the maximum number of keys with a separate bucket. Further keys share one bucket, to bound the memory
 */
export function createOwnBuckets(rate: Rate, maxKeys = Number.POSITIVE_INFINITY): Pick<Buckets, 'take' | 'size'> {
  const buckets = createBuckets(rate)
  let forgottenAt = monotonicSeconds()
  return {
    take(key, now, cost, party) {
      if (now - forgottenAt > USAGE_TTL_SECONDS) {
        forgottenAt = now
        buckets.usage(now)
        buckets.share(1, now)
      }
      return buckets.take(buckets.size() < maxKeys ? key : 'other', now, cost, party)
    },
    size: buckets.size,
  }
}

/** The limit of a key: up to `burst` requests (at least 1) at once, refilled by `perSecond` requests per second. */
interface Rate {
  perSecond: number
  burst: number
  /**
   * A party is rejected if the remaining requests do not exceed `partyWeight` times the number of requests that the
   * party has used. With 9, one party gets a tenth of the burst, and ten greedy parties leave over a third of the burst
   * to others. Default: 1.
   */
  partyWeight?: number
}

/** Rate limits by key. Times are in seconds of a monotonic clock. */
export type Buckets = ReturnType<typeof createBuckets>

interface Bucket {
  /** The remaining requests of all processes, as far as this process knows. Negative if they admitted too many. */
  level: number
  filledAt: number
  /** The requests that this process can admit before the next exchange of usage. */
  allowance: number
  usage: number
  spentAt: number
  knownSince: number
  /** The time at which each of the other processes last admitted a request of the key. */
  others: Map<string, number>
  /** The number of used requests of each party. A refill reduces these numbers in proportion. */
  parts: Map<string, number>
}

/** The time for which a count of usage is reported after its last change, so that each process reads the count. */
const USAGE_TTL_SECONDS = 5

/** The number of used requests below which a party is removed from `parts`, because it no longer affects a decision. */
const LEAST_PART = 0.01

/**
 * Creates token buckets that several processes share. Each process has a copy of the buckets, and admits at most its
 * share. At each exchange of usage, it deducts the requests that the other processes admitted.
 */
export function createBuckets({ perSecond, burst, partyWeight = 1 }: Rate) {
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
    }
    buckets.set(key, bucket)
    return bucket
  }

  function fill(bucket: Bucket, now: number): void {
    const added = (now - bucket.filledAt) * perSecond
    bucket.filledAt = now
    const used = capacity - bucket.level
    bucket.level = Math.min(capacity, bucket.level + added)
    if (used > 0) scaleParts(bucket, (capacity - bucket.level) / used)
    bucket.allowance += added / users(bucket, now)
  }

  function scaleParts({ parts }: Bucket, factor: number): void {
    for (const [party, part] of parts) {
      if (part * factor < LEAST_PART) parts.delete(party)
      else parts.set(party, part * factor)
    }
  }

  /**
   * Returns the number of processes that use the key. While a key is too new for all processes to have reported their
   * usage, returns the number of all processes.
   */
  function users(bucket: Bucket, now: number): number {
    if (now - bucket.knownSince < ACTIVE_MS / 1000) return instances
    const active = [...bucket.others.values()].filter((heardAt) => now - heardAt < ACTIVE_MS / 1000)
    return Math.min(instances, 1 + active.length)
  }

  return {
    /**
     * Counts a request and returns undefined, or returns the seconds until the request is allowed. A request with a
     * `cost` above 1 is allowed if one request remains, and counts as `cost` requests. Later requests then wait until
     * the bucket is refilled. A party of a shared key can be rejected earlier (`partyWeight`), so that requests remain
     * for other parties.
     */
    take(key: string, now: number, cost = 1, party?: string): number | undefined {
      const bucket = open(key, now)
      fill(bucket, now)
      const free = instances === 1 ? bucket.level : Math.min(bucket.level, bucket.allowance)
      const part = party === undefined ? 0 : (bucket.parts.get(party) ?? 0)
      const left = free - part * partyWeight
      if (left < 1) return (1 - left) / perSecond
      if (party !== undefined) bucket.parts.set(party, part + cost)
      bucket.level -= cost
      bucket.allowance -= cost
      bucket.usage += cost
      bucket.spentAt = now
      return undefined
    },

    /**
     * Returns the number of requests that this process admitted, by key. A count only grows, until it is dropped
     * USAGE_TTL_SECONDS after the last request of its key.
     */
    usage(now: number): Record<string, number> {
      const counts: [string, number][] = []
      for (const [key, bucket] of buckets) {
        // Stop reporting an idle key, and reset its count: other instances treat a count that reappears as new.
        if (now - bucket.spentAt > USAGE_TTL_SECONDS) bucket.usage = 0
        if (bucket.usage > 0) counts.push([key, bucket.usage])
      }
      // Report only the MAX_NAMES keys with the highest usage. Each process limits the other keys separately.
      if (counts.length > MAX_NAMES) {
        counts.sort(([, one], [, other]) => other - one)
        for (const [key] of counts.splice(MAX_NAMES)) buckets.get(key)!.usage = 0
      }
      return Object.fromEntries(counts)
    },

    /** Deducts the `count` requests that the process `from` admitted since its usage was last read. */
    merge(from: string, key: string, count: number, now: number): void {
      const bucket = open(key, now)
      fill(bucket, now)
      // Limit how far a level falls below zero. Otherwise, a key could wait for much longer than a burst takes to
      // refill.
      bucket.level = Math.max(-burst - perSecond, bucket.level - count)
      bucket.others.set(from, now)
    },

    /** Divides the remaining requests among this and the other processes. Call it after an exchange of usage. */
    share(processes: number, now: number): void {
      instances = processes
      for (const [key, bucket] of buckets) {
        fill(bucket, now)
        if (bucket.usage === 0 && bucket.level === capacity) buckets.delete(key)
        // Allow at least one request. With a small limit, the share of a process can be less than one request.
        else bucket.allowance = Math.max(1, bucket.level / users(bucket, now))
      }
    },

    size: () => buckets.size,
  }
}
