import { GoogleApiError } from './api-error.ts'

/** `urgent` is what somebody waits for; it goes before what is `bulk`. */
export type Urgency = 'urgent' | 'bulk'

/** The pace of the requests of one issuer. */
export interface Pacing {
  /**
   * Resolves when the next request may start: the urgent ones first, and among equals first come, first served.
   * @throws GoogleApiError of the kind quota where that would take more than 10 seconds, as things stand
   */
  turn(urgency: Urgency): Promise<void>
  /** Lets no request start for so many seconds (at most 60), since the platform asked for it. */
  pause(seconds: number): void
}

const MAX_WAIT_MS = 10_000
const MAX_PAUSE_SECONDS = 60

/** Spaces requests evenly, so that no second holds more than its share. Knows only the requests of this process. */
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
    // A pause that began in the meantime holds for those who were waiting too.
    if (pausedUntil <= now) {
      // A timer that came late may be caught up on by one turn, and by no burst.
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
    message: 'More requests are waiting than Google takes from one issuer.',
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  })
}
