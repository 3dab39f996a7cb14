import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../../core/errors.ts'
import { type Buckets, createBuckets, type Rate } from './buckets.ts'
import { createPublicGate, type PublicGate } from './public-gate.ts'

/**
 * Lets a key through, or refuses it.
 * @throws Problem RATE_LIMITED with Retry-After
 */
export type Limit = (key: string, cost?: number) => void

export interface Limits {
  /** Requests with a token, by its id. */
  token: Limit
  /** Requests without one, by client address. */
  byAddress: Record<AddressLimit, Limit>
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
  /** Phones and Google: carriers put thousands of phones behind one address. */
  wallets: { perSecond: 500, burst: 2_000 },
  /** Balancers, which must not take a busy server for a dead one. */
  health: { perSecond: 100, burst: 200 },
} as const satisfies Record<string, Rate>

export type AddressLimit = keyof typeof ADDRESS_RATES

/** @param rate of each token; no requests a second turn every limit of a token or an address off */
export function createLimits(rate: Rate): Limits {
  const isOff = rate.perSecond === 0
  const byAddress = Object.fromEntries(
    Object.entries(ADDRESS_RATES).map(([name, addressRate]) => [
      name,
      isOff ? () => undefined : createLimit(createExpiringCache(addressRate), name),
    ]),
  ) as Limits['byAddress']
  if (isOff) {
    const publicGate = createPublicGate({ atOnceByAddress: Infinity, waitingByAddress: Infinity })
    return { token: () => undefined, byAddress, publicGate, buckets: undefined }
  }
  const buckets = createBuckets(rate)
  return { token: createLimit(buckets, 'token'), byAddress, publicGate: createPublicGate(), buckets }
}

/** A refusal costs nearly what an answer costs: whoever does not wait when told to has to, a little. */
const REFUSED_AFTER_MS = 500

/** So many refusals of one key are kept back at a time, so that they never hold the connections of everybody. */
const MAX_KEPT_BACK = 64

/** The same limit, which keeps a refusal back for a while. */
export function refuseSlowly(limit: Limit): (key: string) => Promise<void> {
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

  return async (key) => {
    try {
      limit(key)
    } catch (rejection) {
      await keepBack(key)
      throw rejection
    }
  }
}

/** The time of the limits, in seconds: it never goes back, however the clock is set. */
export function monotonicSeconds(): number {
  return performance.now() / 1000
}

function createLimit(buckets: Pick<Buckets, 'take'>, name: string): Limit {
  return (key, cost) => {
    const wait = buckets.take(key, monotonicSeconds(), cost)
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

/** Buckets that nobody shares, cleared now and then of those that are full again. */
function createExpiringCache(rate: Rate): Pick<Buckets, 'take'> {
  const buckets = createBuckets(rate)
  let forgottenAt = monotonicSeconds()
  return {
    take(key, now, cost) {
      if (now - forgottenAt > FORGET_SECONDS) {
        forgottenAt = now
        buckets.usage(now)
        buckets.share(1, now)
      }
      return buckets.take(key, now, cost)
    },
  }
}
