/** The best of some rounds that take turns: what else runs on the machine slows a round, and nothing speeds it up. */
export function best(rates: number[]): number {
  return Math.max(...rates)
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
