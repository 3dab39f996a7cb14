/** What a reader found in a picture. */
export interface Reading {
  text: string
  /** A linear code has the weakest checksum of those that are read. */
  isLinear: boolean
}

/** A code that was not seen for so long has left; whoever holds it up again means it. */
const GONE_MS = 1500

/** A linear code counts when a second picture within this time says the same. */
const CONFIRM_MS = 700

/** Which codes are new in view: see createSightings. */
export interface Sightings {
  /**
   * @param at milliseconds of any clock that only goes forward
   * @returns the payload to evaluate; undefined where nothing is new
   */
  see(reading: Reading | undefined, at: number): string | undefined
}

/**
 * Evaluates a code once, however long it is held up, and again when it comes back after it had left. Blurred or covered for a
 * moment, it has not left.
 */
export function createSightings(): Sightings {
  const seen = new Map<string, number>()
  let unsure: { text: string; at: number } | undefined

  return {
    see(reading, at) {
      for (const [text, last] of seen) if (at - last > GONE_MS) seen.delete(text)
      if (!reading) return undefined
      const { text, isLinear } = reading
      const isInView = seen.has(text)
      if (isLinear && !isInView) {
        const isConfirmed = unsure?.text === text && at - unsure.at <= CONFIRM_MS
        unsure = isConfirmed ? undefined : { text, at }
        if (!isConfirmed) return undefined
      }
      seen.set(text, at)
      return isInView ? undefined : text
    },
  }
}
