import { GoogleApiError } from './api-error.ts'

export type Urgency = 'urgent' | 'bulk'

export interface Pacing {
  /**
   * Waits until the next request can start.
   * @throws GoogleApiError `quota` if the wait would be longer than 10 s
   */
  turn(urgency: Urgency): Promise<void>
  /** Pauses all requests for a number of seconds (at most 60), as the platform requested. */
  pause(seconds: number): void
}

const MAX_WAIT_MS = 10_000
const MAX_PAUSE_SECONDS = 60

export function createPacing(requestsPerSecond: number): Pacing {
  const spacingMs = 1000 / requestsPerSecond
  const waiting: Record<Urgency, (() => void)[]> = { urgent: [], bulk: [] }
  let nextAt = 0
  let pausedUntil = 0
  let isScheduled = false

  const openAt = () => Math.max(nextAt, pausedUntil)

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(release, Math.max(0, openAt() - performance.now()))
  }

  function release(): void {
    isScheduled = false
    const now = performance.now()
    // During a pause, start no request, not even a waiting one.
    if (pausedUntil <= now) {
      // If the timer was late, catch up by one request at most, to avoid a burst.
      nextAt = Math.max(openAt(), now - spacingMs) + spacingMs
      const start = waiting.urgent.shift() ?? waiting.bulk.shift()
      start?.()
    }
    if (waiting.urgent.length + waiting.bulk.length > 0) schedule()
  }

  return {
    async turn(urgency) {
      const now = performance.now()
      const ahead = waiting.urgent.length + (urgency === 'bulk' ? waiting.bulk.length : 0)
      const waitMs = Math.max(now, openAt()) + ahead * spacingMs - now
      if (waitMs > MAX_WAIT_MS) throw tooLong(waitMs)
      if (waitMs <= 0) {
        nextAt = now + spacingMs
        return
      }
      await new Promise<void>((resolve) => {
        waiting[urgency].push(resolve)
        schedule()
      })
    },
    pause(seconds) {
      pausedUntil = Math.max(pausedUntil, performance.now() + Math.min(seconds, MAX_PAUSE_SECONDS) * 1000)
    },
  }
}

function tooLong(waitMs: number): GoogleApiError {
  return new GoogleApiError({
    kind: 'quota',
    message: 'Too many requests of this issuer are waiting for Google.',
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  })
}
