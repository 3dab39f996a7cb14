import { GoogleApiError } from './api-error.ts'

export interface Pacing {
  /**
   * Resolves when the next request may start, first come, first served.
   * @throws GoogleApiError of the kind quota where that would take more than 10 seconds
   */
  turn(): Promise<void>
  /** Lets no request start for so many seconds (at most 60), since the platform asked for it. */
  pause(seconds: number): void
}

const MAX_WAIT_MS = 10_000
const MAX_PAUSE_SECONDS = 60

/** Spaces requests evenly, so that no second holds more than its share. Knows only the requests of this process. */
export function createPacing(requestsPerSecond: number): Pacing {
  const spacingMs = 1000 / requestsPerSecond
  let nextAt = 0
  let pausedUntil = 0

  async function turn(): Promise<void> {
    const now = performance.now()
    const startAt = Math.max(now, nextAt, pausedUntil)
    const waitMs = startAt - now
    if (waitMs > MAX_WAIT_MS) throw tooLong(waitMs)
    nextAt = startAt + spacingMs
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    // A pause that began in the meantime holds for those who were waiting too.
    if (pausedUntil > startAt) await turn()
  }

  return {
    turn,
    pause(seconds) {
      pausedUntil = Math.max(pausedUntil, performance.now() + Math.min(seconds, MAX_PAUSE_SECONDS) * 1000)
    },
  }
}

function tooLong(waitMs: number): GoogleApiError {
  return new GoogleApiError({
    kind: 'quota',
    message: 'More requests are waiting than Google takes from one issuer.',
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  })
}
