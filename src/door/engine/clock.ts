/** The clock of a door: the phone's clock, corrected by the server's. */
export type DoorClock = ReturnType<typeof createDoorClock>

/** The precision of a Date header, in milliseconds. */
const HEADER_MS = 1_000
/**
 * The maximum difference between the phone's clock and the monotonic clock that counts as drift, in milliseconds. If
 * the phone's clock is further behind, it was set back.
 */
const DRIFT_MS = 1_000

/**
 * Creates the clock of a door. Each response bounds the difference between the server's clock and the phone's: the
 * server cannot have responded before the request or after the response. The clock combines the bounds of all
 * responses. If a response contradicts the earlier bounds, the phone's clock was set, and the clock starts over with
 * the new bounds.
 *
 * The monotonic clock detects that the phone's clock was set back. If the phone's clock jumps ahead, the phone probably
 * slept, during which browsers stop the monotonic clock. The clock accepts the jump until a response contradicts it.
 */
export function createDoorClock(
  source: { wallMs: () => number; monotonicMs: () => number },
  learnedMs: number,
  onChange: () => void,
) {
  let bounds: { low: number; high: number } | undefined
  let offsetMs = learnedMs
  /** The milliseconds that are added to the phone's clock, so that the time continues after the clock was set back. */
  let setBackMs = 0
  let last = { wall: source.wallMs(), monotonic: source.monotonicMs() }

  /** Returns the time of the phone's clock. The returned time never goes back, even if the clock is set back. */
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
    /** The server's time minus the phone's, in milliseconds; 0 if they agree. */
    get offsetMs() {
      // If the clock was set back, report its whole error, including the part that `wallMs` corrects.
      return offsetMs + setBackMs
    },
    /**
     * Learns from a response of the server.
     * @param date the Date header, or a more precise time at which the server handled the request
     * @param sentAt the time of the request, by `wallMs`
     * @param receivedAt the time of the response, by `wallMs`
     * @param precisionMs the precision of `date`
     */
    observe(date: string | null, sentAt: number, receivedAt: number, precisionMs = HEADER_MS): void {
      const moment = date === null ? Number.NaN : Date.parse(date)
      if (Number.isNaN(moment)) return
      const seen = { low: moment - receivedAt, high: moment + precisionMs - sentAt }
      const both = bounds && { low: Math.max(bounds.low, seen.low), high: Math.min(bounds.high, seen.high) }
      bounds = both && both.low <= both.high ? both : seen
      const { low, high } = bounds
      // If the bounds contain 0, assume that this device's clock and the server's clock show the same time.
      const known = low <= 0 && high >= 0 ? 0 : (low + high) / 2
      if (Math.abs(known - offsetMs) < 1) return
      offsetMs = known
      onChange()
    },
    wallMs,
  }
}

export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
