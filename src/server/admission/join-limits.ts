import { createLimit, createOwnBuckets, type Limit } from './rate-limit.ts'

/** The limits on join-page submissions, at each server. */
export interface JoinLimits {
  /** The limit by client address. */
  address: Limit
  /**
   * The limit by page. Its parties are networks: if some networks use up most of the limit, only submissions from these
   * networks are rejected.
   */
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
  return { address: perMinuteLimit(perAddress), page: perMinuteLimit(perPage) }
}

function perMinuteLimit(perMinute: number): Limit {
  if (perMinute === 0) return () => undefined
  const buckets = createOwnBuckets({ perSecond: perMinute / 60, burst: perMinute, partyWeight: 9 }, 100_000)
  return createLimit(buckets, 'join', { counted: 'submissions', details: { reason: 'join' } })
}
