import { spawnProgram } from '../e2e/support/program.ts'
import type { Arena } from './arena.ts'

interface Backlog {
  counts: { kind: string; waiting: number; running: number; failed: number }[]
}

/** Returns the jobs in the outbox, as `passes jobs list` prints them. */
export async function listJobs(database: string): Promise<Backlog['counts']> {
  const { stdout, exitCode, stderr } = await spawnProgram(['jobs', 'list', '--json', '--database', database])
  if (exitCode !== 0) throw new Error(`jobs list exited with ${exitCode}: ${stderr}`)
  return (JSON.parse(String(stdout)) as Backlog).counts
}

/** Waits until no job is left. The promise is broken if a job stays or has failed. */
export async function settle(arena: Arena, database: string, seconds: number): Promise<number> {
  let counts: Backlog['counts'] = []
  const took = await arena.waitUntil('all jobs are run', seconds, async () => {
    counts = await listJobs(database)
    return counts.length === 0
  })
  arena.check(counts.length === 0, `jobs remain: ${JSON.stringify(counts)}`)
  return took
}

const MOST_SECONDS = 900

/**
 * Waits as `settle` does, with no bound on the total time. The promise is broken if there is no progress for the given
 * number of seconds. A broadcast creates jobs during its fan-out, so the number of jobs can grow for a while.
 * @param fannedOut returns the number of messages that broadcasts have created
 */
export async function drain(
  arena: Arena,
  database: string,
  seconds: number,
  fannedOut: () => Promise<number>,
): Promise<number> {
  let counts: Backlog['counts'] = []
  const isStuck = watchProgress(seconds)
  const took = await arena.waitUntil('all jobs are run', MOST_SECONDS, async () => {
    const made = await fannedOut()
    counts = await listJobs(database)
    const jobs = counts.reduce((sum, { waiting, running, failed }) => sum + waiting + running + failed, 0)
    // Each created message adds a job. Subtract it twice, so that creating and sending it both count as progress.
    return isStuck(jobs - 2 * made) || jobs === 0
  })
  arena.check(counts.length === 0, `jobs remain: ${JSON.stringify(counts)}`)
  return took
}

/**
 * Creates a function that receives the remaining amount, and returns whether it has not decreased for the given number
 * of seconds.
 */
export function watchProgress(seconds: number): (left: number) => boolean {
  let [least, leastAt] = [Number.POSITIVE_INFINITY, 0]
  return (left) => {
    if (left < least) [least, leastAt] = [left, performance.now()]
    return performance.now() - leastAt > seconds * 1000
  }
}
