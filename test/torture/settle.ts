import { spawnProgram } from '../e2e/support/program.ts'
import type { Arena } from './arena.ts'

interface Backlog {
  counts: { kind: string; waiting: number; running: number; failed: number }[]
}

/** What stands in the outbox, as `passes jobs list` tells an operator. */
export async function listJobs(database: string): Promise<Backlog['counts']> {
  const { stdout, exitCode, stderr } = await spawnProgram(['jobs', 'list', '--json', '--database', database])
  if (exitCode !== 0) throw new Error(`jobs list ended with ${exitCode}: ${stderr}`)
  return (JSON.parse(String(stdout)) as Backlog).counts
}

/** Waits until nothing is left to run, and breaks the promise where something stays or gave up. */
export async function settle(arena: Arena, database: string, seconds: number): Promise<number> {
  let counts: Backlog['counts'] = []
  const took = await arena.waitUntil('every job is run', seconds, async () => {
    counts = await listJobs(database)
    return counts.length === 0
  })
  arena.check(counts.length === 0, `left in the outbox: ${JSON.stringify(counts)}`)
  return took
}

const MOST_SECONDS = 900

/**
 * As settle, where the promise names no time and the backlog has no bound: it is broken where there are no fewer jobs than so
 * many seconds before.
 */
export async function drain(arena: Arena, database: string, seconds: number): Promise<number> {
  let counts: Backlog['counts'] = []
  let [fewest, fewestAt] = [Number.POSITIVE_INFINITY, 0]
  const took = await arena.waitUntil('every job is run', MOST_SECONDS, async () => {
    counts = await listJobs(database)
    const left = counts.reduce((sum, { waiting, running, failed }) => sum + waiting + running + failed, 0)
    if (left < fewest) [fewest, fewestAt] = [left, performance.now()]
    return left === 0 || performance.now() - fewestAt > seconds * 1000
  })
  arena.check(counts.length === 0, `left in the outbox: ${JSON.stringify(counts)}`)
  return took
}
