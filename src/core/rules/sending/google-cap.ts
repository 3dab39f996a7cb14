/** Google shows at most so many notifications of a pass within a day (spec 8). */
const MAX_A_DAY = 3
const DAY_MS = 86_400_000

/** Sends further than this from a moment cannot crowd it. */
export const CAP_WINDOW_MS = DAY_MS

/** True where one more at that moment would make more than 3 within some 24 hours. Two sends 24 hours apart share none. */
export function exceedsCap(others: readonly Date[], at: Date): boolean {
  const t = at.getTime()
  const times = [...others.map((other) => other.getTime()).filter((other) => Math.abs(other - t) < DAY_MS), t]
  times.sort((a, b) => a - b)
  return times.some((first, n) => {
    const last = times[n + MAX_A_DAY]
    return last !== undefined && last - first < DAY_MS && first <= t && t <= last
  })
}

/** The least number of whole seconds by which a send has to move so that it fits; 0 where it fits. */
export function capDelaySeconds(others: readonly Date[], at: Date): number {
  if (!exceedsCap(others, at)) return 0
  // Only where an earlier send leaves the window can a later moment begin to fit.
  const delays = others
    .map((other) => Math.ceil((other.getTime() + DAY_MS - at.getTime()) / 1000))
    .filter((seconds) => seconds > 0)
    .sort((a, b) => a - b)
  return delays.find((seconds) => !exceedsCap(others, new Date(at.getTime() + seconds * 1000)))!
}
