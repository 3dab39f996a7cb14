/** The clock of a door: that of the phone, corrected by the server's. */
export interface DoorClock {
  now(): Date
  /** By so much the phone is behind the server, in milliseconds; negative where it is ahead, 0 where they agree. */
  readonly offsetMs: number
  /**
   * Learns from an answer of the server.
   * @param date the Date header
   * @param sentAt when the request went out, and receivedAt when its answer came, by wallMs
   */
  observe(date: string | null, sentAt: number, receivedAt: number): void
  /** The clock of the phone, which does not go back where somebody sets it back. */
  wallMs(): number
}

/** A Date header says the second alone. */
const HEADER_MS = 1_000
/** Clocks of phones run a little fast or slow: within so much nothing was set. */
const DRIFT_MS = 1_000

/**
 * Makes the clock of a door. An answer bounds the difference of the clocks: the server's second cannot be before the request
 * nor after the answer. The bounds of all answers together are what is known; answers that contradict them mean that
 * somebody set the phone's clock, and begin anew.
 *
 * The monotonic clock tells where the phone's was set back in between. Where it jumps ahead the phone most likely slept,
 * during which browsers stop the monotonic clock: that is believed until the server says otherwise.
 */
export function createDoorClock(
  source: { wallMs: () => number; monotonicMs: () => number },
  learnedMs: number,
  onChange: () => void,
): DoorClock {
  let bounds: { low: number; high: number } | undefined
  let offsetMs = learnedMs
  /** Added to the phone's clock so that it goes on where it was set back. */
  let setBackMs = 0
  let last = { wall: source.wallMs(), monotonic: source.monotonicMs() }

  function wallMs(): number {
    const monotonic = source.monotonicMs()
    let wall = source.wallMs() + setBackMs
    const expected = last.wall + (monotonic - last.monotonic)
    if (wall < expected - DRIFT_MS) {
      setBackMs += expected - wall
      wall = expected
    }
    last = { wall, monotonic }
    return wall
  }

  return {
    now: () => new Date(Math.round(wallMs() + offsetMs)),
    get offsetMs() {
      // Where somebody set the clock back it is as wrong as it seems, whatever this page makes of it.
      return offsetMs + setBackMs
    },
    observe(date, sentAt, receivedAt) {
      const second = date === null ? Number.NaN : Date.parse(date)
      if (Number.isNaN(second)) return
      const seen = { low: second - receivedAt, high: second + HEADER_MS - sentAt }
      const both = bounds && { low: Math.max(bounds.low, seen.low), high: Math.min(bounds.high, seen.high) }
      bounds = both && both.low <= both.high ? both : seen
      const { low, high } = bounds
      // Clocks that may be equal are taken for equal.
      const known = low <= 0 && high >= 0 ? 0 : (low + high) / 2
      if (Math.abs(known - offsetMs) < 1) return
      offsetMs = known
      onChange()
    },
    wallMs,
  }
}

/** Resolves after a time. */
export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
