import { setTimeout as sleep } from 'node:timers/promises'

/** The number of rounds of a comparison. PASSES_BENCH_ROUNDS sets another number. */
export const ROUNDS = Number(process.env.PASSES_BENCH_ROUNDS ?? 10)

const MOST_SECONDS = 120
const LEAST_ROUNDS = 3
const PATIENCE_SECONDS = 60

/**
 * Yields the numbers of rounds from 0. After two minutes, only the first three rounds can still start. Prints a message
 * if there are fewer rounds than requested.
 */
export function* rounds(count = ROUNDS): Generator<number> {
  const startedAt = performance.now()
  for (let round = 0; round < count; round += 1) {
    if (round >= LEAST_ROUNDS && performance.now() - startedAt > MOST_SECONDS * 1000) {
      console.log(`  stopped after ${round} of ${count} rounds, because ${MOST_SECONDS} s have passed`)
      return
    }
    yield round
  }
}

/**
 * Waits until the work of a round is finished, so that it does not disturb the next one.
 * @throws Error if it is not finished within a minute
 */
export async function finish(what: string, left: () => Promise<number>, everyMs = 100): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    const count = await left()
    if (count === 0) return
    if (performance.now() - startedAt > PATIENCE_SECONDS * 1000) {
      throw new Error(`There are still ${count} ${what} after ${PATIENCE_SECONDS} s`)
    }
    await sleep(everyMs)
  }
}

/** Returns the best of alternating rounds, because other programs on the machine can only slow down a round. */
export function best(rates: number[]): number {
  return Math.max(...rates)
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

/** Returns the median, the minimum, and the maximum of rounds as text: `1200 (900-1300)`. */
export function spread(values: number[], digits = 0): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits))
  return `${median(values).toFixed(digits)} (${least}-${most})`
}

/** Runs the tasks with `inFlight` of them at a time. Returns the seconds that all tasks took. */
export async function timeAll(tasks: (() => Promise<unknown>)[], inFlight: number): Promise<number> {
  const waiting = tasks.values()
  const start = performance.now()
  const lane = async () => {
    for (const task of waiting) await task()
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return (performance.now() - start) / 1000
}

/** The result of one round. */
export interface Measured {
  /** Operations per second. */
  rate: number
  /** CPU milliseconds of this process per operation. */
  cpu: number
}

/** Measures a round. @param run returns the seconds to count */
export async function measure(operations: number, run: () => Promise<number>): Promise<Measured> {
  const before = process.cpuUsage()
  const seconds = await run()
  const { user, system } = process.cpuUsage(before)
  return { rate: operations / seconds, cpu: (user + system) / 1000 / operations }
}

/** Returns medians with their spread as text: `1204 (1100-1310) a second, 0.41 (0.40-0.44) ms of CPU each`. */
export function describe(rounds: Measured[]): string {
  const rates = rounds.map(({ rate }) => rate)
  const cpu = rounds.map((round) => round.cpu)
  return `${spread(rates)} a second, ${spread(cpu, 3)} ms of CPU each`
}

export function ratioOfRates(ours: Measured[], anchor: Measured[]): number {
  return median(ours.map(({ rate }) => rate)) / median(anchor.map(({ rate }) => rate))
}

/** Returns the ratio of the reference's CPU time to ours. Other programs on the machine hardly change this ratio. */
export function ratioOfCpu(ours: Measured[], anchor: Measured[]): number {
  return median(anchor.map(({ cpu }) => cpu)) / median(ours.map(({ cpu }) => cpu))
}
