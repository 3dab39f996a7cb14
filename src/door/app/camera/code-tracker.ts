export interface Reading {
  text: string
  /** Whether the code is linear. Linear codes have the weakest checksum of all formats. */
  isLinear: boolean
}

/**
 * The time after which a code that is not seen counts as gone, in milliseconds. If the code is shown again after this
 * time, it is a new scan.
 */
const GONE_MS = 1500

/** The time within which a second frame must confirm a linear code, in milliseconds. */
const CONFIRM_MS = 700

/**
 * Creates a tracker that reports a code once, no matter how long the code is in view. If the code was gone and returns,
 * the tracker reports it again. A short blur or cover does not count as gone.
 */
export function createCodeTracker() {
  const seen = new Map<string, number>()
  let unsure: { text: string; at: number } | undefined

  return {
    /**
     * Takes the reading of a frame, and returns the payload to evaluate, or `undefined` if there is no new code.
     * @param at the time of the frame by a monotonic clock, in milliseconds
     */
    see(reading: Reading | undefined, at: number): string | undefined {
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
