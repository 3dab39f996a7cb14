import { ApiError } from '../../core/errors.ts'
import { createCounters } from './counters.ts'

export type PublicGate = ReturnType<typeof createPublicGate>

export interface PublicGateOptions {
  /** The maximum number of concurrent requests. */
  atOnce: number
  atOnceByAddress: number
  waitingByAddress: number
  waiting: number
  timeoutMs: number
}

/** The default limits. They are high enough for many visitors behind one address of a mobile carrier. */
const PUBLIC_LIMITS: PublicGateOptions = {
  atOnce: 128,
  atOnceByAddress: 32,
  waitingByAddress: 128,
  waiting: 1_024,
  timeoutMs: 5_000,
}

interface Waiter {
  address: string
  admit(): void
}

/**
 * Limits concurrent requests without a token, in total and per address. Otherwise, unauthenticated clients could use up
 * the server. Requests above the limit wait for up to `timeoutMs`.
 */
export function createPublicGate(options: Partial<PublicGateOptions> = {}) {
  const { atOnce, atOnceByAddress, waitingByAddress, waiting, timeoutMs } = { ...PUBLIC_LIMITS, ...options }
  const inside = createCounters()
  const outside = createCounters()
  const line = new Set<Waiter>()

  const hasRoom = (address: string) => inside.total() < atOnce && inside.of(address) < atOnceByAddress

  function admit(address: string): () => void {
    inside.add(address, 1)
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      inside.add(address, -1)
      for (const waiter of line) if (hasRoom(waiter.address)) return waiter.admit()
    }
  }

  function wait(address: string): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        line.delete(waiter)
        outside.add(address, -1)
      }
      const waiter: Waiter = {
        address,
        admit() {
          leave()
          resolve(admit(address))
        },
      }
      const timer = setTimeout(() => {
        leave()
        reject(full())
      }, timeoutMs)
      line.add(waiter)
      outside.add(address, 1)
    })
  }

  return {
    /**
     * Waits until a request can start. Call the returned function when the request has ended.
     * @throws ApiError SERVICE_UNAVAILABLE with Retry-After
     */
    async enter(address: string): Promise<() => void> {
      if (hasRoom(address)) return admit(address)
      if (outside.of(address) >= waitingByAddress || outside.total() >= waiting) throw full()
      return wait(address)
    },
  }
}

function full(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many concurrent visitors; try again in a moment.',
    headers: { 'retry-after': '2' },
    forLog: { limit: 'visitors' },
  })
}
