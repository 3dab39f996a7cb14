import { Problem } from '../../core/errors.ts'
import { type Buckets, createBuckets, type Rate } from './buckets.ts'

/**
 * Lets a key through, or refuses it.
 * @throws Problem RATE_LIMITED with Retry-After
 */
export type Limit = (key: string) => void

export interface Limits {
  /** Requests with a token, by its id. */
  token: Limit
  /** What is asked without one, by client address. */
  address: Limit
  /** What counts the requests of tokens, for sharing with other servers; undefined where the limit is off. */
  buckets: Buckets | undefined
}

/** Opened links and failed authentications a second for each client address, at each server. */
const ADDRESS_RATE: Rate = { perSecond: 20, burst: 100 }

/** @param rate of each token; no requests a second turn every limit off */
export function createLimits(rate: Rate): Limits {
  if (rate.perSecond === 0) return { token: () => undefined, address: () => undefined, buckets: undefined }
  const buckets = createBuckets(rate)
  return { token: createLimit(buckets), address: createLimit(createForgetful(ADDRESS_RATE)), buckets }
}

/** The time of the limits, in seconds: it never goes back, however the clock is set. */
export function monotonicSeconds(): number {
  return performance.now() / 1000
}

function createLimit(buckets: Pick<Buckets, 'take'>): Limit {
  return (key) => {
    const wait = buckets.take(key, monotonicSeconds())
    if (wait === undefined) return
    const seconds = Math.max(1, Math.ceil(wait))
    throw new Problem('RATE_LIMITED', {
      message: `Too many requests; wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    })
  }
}

const FORGET_SECONDS = 10

/** Buckets that nobody shares, cleared now and then of those that are full again. */
function createForgetful(rate: Rate): Pick<Buckets, 'take'> {
  const buckets = createBuckets(rate)
  let forgottenAt = monotonicSeconds()
  return {
    take(key, now) {
      if (now - forgottenAt > FORGET_SECONDS) {
        forgottenAt = now
        buckets.spent(now)
        buckets.share(1, now)
      }
      return buckets.take(key, now)
    },
  }
}
