import { ApiError } from '../../core/errors.ts'
import { FairQueue, type Leave, QueueRejection } from '../../core/scheduling/fair-queue.ts'

/**
 * Limits the concurrent requests without a token, of all addresses and of one, so that strangers get a bounded part of the
 * server. A request without a place waits for a while, and addresses take turns.
 */
export interface PublicGate {
  /**
   * Resolves when there is room, to what gives it back.
   * @throws ApiError SERVICE_UNAVAILABLE with Retry-After
   */
  enter(address: string): Promise<Leave>
}

/** How many requests without a token are let in. */
export interface PublicGateOptions {
  /** Answers that are made or sent at once. */
  atOnce: number
  atOnceByAddress: number
  /** Requests of an address that wait beside those. */
  waitingByAddress: number
  waiting: number
  patienceMs: number
}

/** How long an answer may take to be made and read by a client: the largest image at 350 kbit/s. */
export const PUBLIC_ANSWER_MS = 120_000

const DEFAULTS: PublicGateOptions = {
  atOnce: 128,
  atOnceByAddress: 32,
  waitingByAddress: 128,
  waiting: 1_024,
  patienceMs: 5_000,
}

/** Bounds the responses that are made for strangers at a time: see PublicGate. */
export function createPublicGate(options: Partial<PublicGateOptions> = {}): PublicGate {
  const { atOnce, atOnceByAddress, waitingByAddress, waiting, patienceMs } = { ...DEFAULTS, ...options }
  const queue = new FairQueue({
    places: atOnce,
    perFlow: atOnceByAddress,
    max: atOnce + waiting,
    maxPerFlow: atOnceByAddress + waitingByAddress,
  })
  return {
    enter: (address) =>
      queue.enter(address, { timeoutMs: patienceMs }).catch((error: unknown) => {
        throw error instanceof QueueRejection ? full() : error
      }),
  }
}

function full(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many visitors at once; try again in a moment.',
    headers: { 'retry-after': '2' },
    forLog: { limit: 'visitors' },
  })
}
