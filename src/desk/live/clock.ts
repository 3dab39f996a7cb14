/** The server's clock, from its responses: the clock of an unattended wall screen can be wrong by a day. */
export interface ServerClock {
  now(): Date
  /** Updates the clock from the Date header of a response. */
  observe(date: string | null): void
}

/**
 * The difference below which clocks count as equal: the header has a resolution of seconds, and figures do not need
 * more precision.
 */
const EQUAL_MS = 60_000

/** Creates a clock that uses the browser's time until a response differs. */
export function createServerClock(): ServerClock {
  let aheadMs = 0
  return {
    now: () => new Date(Date.now() + aheadMs),
    observe(date) {
      const ahead = Date.parse(date ?? '') - Date.now()
      if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) < EQUAL_MS ? 0 : ahead
    },
  }
}
