/** The clock of the server, as its answers tell it: that of a screen on a wall may be wrong by a day, and nobody looks. */
export interface ServerClock {
  now(): Date
  /** Learns from the Date header of an answer. */
  observe(date: string | null): void
}

/** Within so much clocks are taken for equal: a header says the second alone, and no figure moves by less. */
const EQUAL_MS = 60_000

/** A clock that goes by the browser's until an answer says otherwise. */
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
