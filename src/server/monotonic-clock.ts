/** The time of limits, in seconds. It never goes back, even if the clock of the machine is set. */
export function monotonicSeconds(): number {
  return performance.now() / 1000
}
