import { ApiError } from '../../core/errors.ts'
import { monotonicSeconds } from '../line-limit.ts'
import { createOwnBuckets, type Limit } from './rate-limit.ts'

/** The limits of submitted forms of join pages at each server. */
export interface JoinLimits {
  /** The limit by client address. */
  address: Limit
  /** The limit by page. */
  page: Limit
}

/** Submissions per minute; 0 means no limit. */
export interface JoinRates {
  perAddress: number
  perPage: number
}

/** The default rates. They are high, because a crowd in a venue can share one address. */
const defaultRates: JoinRates = { perAddress: 60, perPage: 600 }

export function createJoinLimits({ perAddress, perPage }: JoinRates = defaultRates): JoinLimits {
  return { address: createLimit(perAddress), page: createLimit(perPage) }
}

/**
 * @param maxKeys the number of keys with a separate bucket. Further keys share one bucket, so that memory is bounded
 */
function createLimit(perMinute: number, maxKeys = 100_000): Limit {
  if (perMinute === 0) return () => undefined
  const buckets = createOwnBuckets({ perSecond: perMinute / 60, burst: perMinute })
  return (key) => {
    const wait = buckets.take(buckets.size() < maxKeys ? key : 'other', monotonicSeconds())
    if (wait === undefined) return
    const seconds = Math.max(1, Math.ceil(wait))
    throw new ApiError('RATE_LIMITED', {
      message: `Too many submissions; wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
      details: { reason: 'join' },
      forLog: { limit: 'join' },
    })
  }
}
