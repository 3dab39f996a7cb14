import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../core/errors.ts'
import { ACTIVE_MS, MAX_NAMES } from '../../storage/db/fair-gate.ts'
import { monotonicSeconds } from '../line-limit.ts'
import { createCounters } from './counters.ts'
import { createPublicGate, type PublicGate } from './public-gate.ts'

/** Counts a request of a key, or rejects it. @throws ApiError RATE_LIMITED with Retry-After */
export type Limit = (key: string, cost?: number, party?: string) => void

/** All rate limits of a server. */
export interface Limits {
  /**
   * The limit of requests with a token, by token ID. The doors of a project share one limit, and each door is a party.
   */
  token: Limit
  /** The limits of requests without a token, by client address. */
  byAddress: Record<AddressLimit, Limit>
  /** The limit, by pass, of removals from its last Apple wallet. */
  removals: Limit
  /** The limit of concurrent requests without a token. */
  publicGate: PublicGate
  /** The buckets of the limit by token, with usage shared among servers; undefined if the limit is disabled. */
  buckets: Buckets | undefined
}

/** Requests per second and client address, and removals per pass, at each server. */
const RATES = {
  /** Opened links and rejected requests. Both can be attempts to guess a link or a token. */
  address: { perSecond: 20, burst: 100 },
  /** Files that are the same for all clients: pages, the API description, images. */
  files: { perSecond: 50, burst: 200 },
  /** Requests of phones and platforms. Carriers put thousands of phones behind one address. */
  wallets: { perSecond: 500, burst: 2_000 },
  /** Health checks have a separate limit, so that load balancers do not mistake a busy server for a stopped one. */
  health: { perSecond: 100, burst: 200 },
  /**
   * Removals of a pass from its last Apple wallet. Its holder can remove and add it repeatedly. Each removal causes
   * events that are stored, sent to webhooks, and counted. Legitimate use stays far below the limit.
   */
  removal: { perSecond: 1 / 60, burst: 20 },
} as const satisfies Record<string, Rate>

/** The kinds of requests that are limited by address. */
export type AddressLimit = Exclude<keyof typeof RATES, 'removal'>

/**
 * Creates the limits of tokens and addresses in this process.
 * @param rate the rate of each token. 0 requests per second disables the limits of tokens and addresses
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
 * Rejections are delayed to slow down clients that ignore Retry-After, since a rejection costs almost as much as a
 * response. Only `perKey` are delayed at the same time, so that they cannot occupy all connections.
 */
const DELAYED = { ms: 500, perKey: 64 }

/** Wraps a limit so that its rejections are delayed. */
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
 * Creates buckets for one process. Deletes buckets that are full again, at most every USAGE_TTL_SECONDS.
 * @param maxKeys the number of keys with a separate bucket. All other keys share a bucket, so that memory is bounded
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

/** The limit of a key: at most `burst` requests together (at least 1), and then `perSecond` requests per second. */
interface Rate {
  perSecond: number
  burst: number
  /**
   * A party is rejected if its requests, multiplied by this factor, are at least as many as remain. With 9, one party
   * gets a tenth of the burst, and ten greedy parties leave over a third to others. Default: 1.
   */
  partyWeight?: number
}

/** Rate limits by key. Times are in seconds of a monotonic clock. */
export interface Buckets {
  /**
   * Counts a request and returns undefined, or returns the seconds until it is allowed. A `cost` above 1 counts as
   * several requests: the request is allowed if a request of cost 1 would be, and later requests wait until the debt is
   * refilled. A party of a shared key can be rejected earlier (`partyWeight`), so that some requests remain for other
   * parties.
   */
  take(key: string, now: number, cost?: number, party?: string): number | undefined
  /**
   * Returns the number of requests that this process admitted, by key. A count grows while its key is in use, and is
   * reported for USAGE_TTL_SECONDS after the last request.
   */
  usage(now: number): Record<string, number>
  /** Deducts requests that the process `from` admitted since its usage was last read. */
  merge(from: string, key: string, count: number, now: number): void
  /** Divides the remaining requests among this and the other processes. Call it after an exchange of usage. */
  share(processes: number, now: number): void
  /** The number of keys in memory. */
  size(): number
}

interface Bucket {
  /** The remaining requests of all processes, as far as is known. Negative if processes admitted too many. */
  level: number
  filledAt: number
  /** The requests that this process can admit before the next exchange of usage. */
  allowance: number
  usage: number
  spentAt: number
  knownSince: number
  /** The time at which each of the other processes last admitted a request of the key. */
  others: Map<string, number>
  /** The part of the used requests that each party caused. A refill reduces all parts in proportion. */
  parts: Map<string, number>
}

/** The time for which a count is reported after it last rose, so that no process misses it. */
const USAGE_TTL_SECONDS = 5

/** A party whose part falls below this number is removed from `parts`: it no longer changes a decision. */
const LEAST_PART = 0.01

/**
 * Creates token buckets that several processes share. Each process has a copy, admits at most its share until the next
 * exchange of usage, and then deducts the requests that the others admitted.
 */
export function createBuckets({ perSecond, burst, partyWeight = 1 }: Rate): Buckets {
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
   * Returns the number of processes that use the key. For a new key, returns the number of all processes until each of
   * them had time to report its usage.
   */
  function users(bucket: Bucket, now: number): number {
    if (now - bucket.knownSince < ACTIVE_MS / 1000) return instances
    const active = [...bucket.others.values()].filter((heardAt) => now - heardAt < ACTIVE_MS / 1000)
    return Math.min(instances, 1 + active.length)
  }

  return {
    take(key, now, cost = 1, party) {
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

    usage(now) {
      const counts: [string, number][] = []
      for (const [key, bucket] of buckets) {
        // Reset stale counts: when the key reappears, other instances treat its whole count as new.
        if (now - bucket.spentAt > USAGE_TTL_SECONDS) bucket.usage = 0
        if (bucket.usage > 0) counts.push([key, bucket.usage])
      }
      // Report only the keys with the highest usage. The limits of the other keys apply per process.
      if (counts.length > MAX_NAMES) {
        counts.sort(([, one], [, other]) => other - one)
        for (const [key] of counts.splice(MAX_NAMES)) buckets.get(key)!.usage = 0
      }
      return Object.fromEntries(counts)
    },

    merge(from, key, count, now) {
      const bucket = open(key, now)
      fill(bucket, now)
      // Limit the debt, so that a key waits at most a second longer than a burst takes to refill.
      bucket.level = Math.max(-burst - perSecond, bucket.level - count)
      bucket.others.set(from, now)
    },

    share(processes, now) {
      instances = processes
      for (const [key, bucket] of buckets) {
        fill(bucket, now)
        if (bucket.usage === 0 && bucket.level === capacity) buckets.delete(key)
        // Allow at least one request, because the share of a process in a small limit can be less than one.
        else bucket.allowance = Math.max(1, bucket.level / users(bucket, now))
      }
    },

    size: () => buckets.size,
  }
}
