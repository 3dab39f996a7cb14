interface RescheduleOptions {
  /** Another run before that would be in vain; none by default. */
  retryAfterSeconds?: number | undefined
  /** False where nothing was tried, such as a request that never left; true by default. */
  countsAsAttempt?: boolean
  cause?: unknown
}

/**
 * A run of a job that failed and may succeed by itself later. What else a job throws is taken for one that counts as an
 * attempt, with the usual backoff.
 */
export class RescheduleError extends Error {
  override readonly name = 'RescheduleError'
  readonly retryAfterSeconds: number
  readonly countsAsAttempt: boolean

  constructor(message: string, { retryAfterSeconds = 0, countsAsAttempt = true, cause }: RescheduleOptions = {}) {
    super(message, { cause })
    this.retryAfterSeconds = retryAfterSeconds
    this.countsAsAttempt = countsAsAttempt
  }
}

/** A run of a job that failed for good: another would fail in the same way until somebody changes something. */
export class DiscardError extends Error {
  override readonly name = 'DiscardError'
}
