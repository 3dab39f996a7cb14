import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../../core/errors.ts'

/** Lets a key through, or refuses it. */
export type Limit = (key: string) => Promise<void>

/** Seconds in which a spent burst comes back. */
const BURST_SECONDS = 10

/**
 * So many requests a second, and beyond them a burst that refills slowly.
 * @throws Problem RATE_LIMITED with Retry-After
 */
export function createRateLimit({ perSecond, burst }: { perSecond: number; burst: number }): Limit {
  if (perSecond === 0) return async () => undefined
  const limiter = new BurstyRateLimiter(
    new RateLimiterMemory({ keyPrefix: 'rate', points: perSecond, duration: 1 }),
    new RateLimiterMemory({ keyPrefix: 'burst', points: burst, duration: BURST_SECONDS }),
  )
  return async (key) => {
    try {
      await limiter.consume(key)
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
      throw new Problem('RATE_LIMITED', {
        message: `Too many requests; wait ${seconds} s.`,
        headers: { 'retry-after': String(seconds) },
      })
    }
  }
}
