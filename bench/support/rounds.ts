/** The best of some rounds that take turns: what else runs on the machine slows a round, and nothing speeds it up. */
export function best(rates: number[]): number {
  return Math.max(...rates)
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

/** The median of some rounds, and the least and the most: `1200 (900-1300)`. */
export function spread(values: number[], digits = 0): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits))
  return `${median(values).toFixed(digits)} (${least}-${most})`
}

/** Runs the tasks with some of them in flight at any time, and returns the seconds that they took together. */
export async function timeAll(tasks: (() => Promise<unknown>)[], inFlight: number): Promise<number> {
  const waiting = tasks.values()
  const start = performance.now()
  const lane = async () => {
    for (const task of waiting) await task()
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return (performance.now() - start) / 1000
}

/** The middle of some rounds. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The median with the least and the most of the rounds: `1204 (1100 to 1310)`. */
export function spread(values: number[], digits = 0): string {
  return `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`
}
