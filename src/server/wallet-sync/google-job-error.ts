import { DiscardError, RescheduleError } from '../../core/errors.ts'
import { GoogleApiError, isPassing } from '../../wallets/google/api/api-error.ts'

/** What a failed call of Google means for the job that made it, in the words of jobs; anything else as it is. */
export function toJobError(error: unknown): unknown {
  if (!(error instanceof GoogleApiError)) return error
  const { message, kind, status, retryAfterSeconds } = error
  if (!isPassing(error)) return new DiscardError(message, { cause: error })
  // Our own pacing held it back: it never left.
  const countsAsAttempt = !(kind === 'quota' && status === null)
  return new RescheduleError(message, { retryAfterSeconds, countsAsAttempt, cause: error })
}
