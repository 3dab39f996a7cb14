import { ApiError } from '../../core/errors.ts'
import { turns } from './constants.ts'
import { FairQueue, type FairQueueOptions } from './fair-queue.ts'

/** The requests without a token, by address: strangers get a bounded part of the server, and addresses take turns. */
export type PublicGate = Pick<FairQueue, 'enter'>

/** Creates the queue of requests without a token. Those that it rejects get 503 with Retry-After. */
export function createPublicGate(options: Partial<FairQueueOptions> = {}): PublicGate {
  return new FairQueue({ ...turns.visitors, reject: full, ...options })
}

function full(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many visitors at once; try again in a moment.',
    headers: { 'retry-after': '2' },
    forLog: { limit: 'visitors' },
  })
}
