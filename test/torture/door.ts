import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../bench/support/many-passes.ts'
import type { ServerProcess } from '../e2e/support/server.ts'
import type { Arena } from './arena.ts'

/** The ratio of the p99 of scans next to other work to their p99 without it. */
const MAX_RATIO = 2.5

/** The number of passes that are scanned, which need the codes of `insertCodes`. */
const SCANNED = 1_000

/** The interval between scans, regardless of their duration. */
const SCAN_MS = 25

/** Scans passes at a steady rate, and returns the p99 of the response times in milliseconds. */
export async function scan(
  { client }: ServerProcess,
  seconds: number,
  goesOn: () => Promise<boolean> = async () => true,
): Promise<number> {
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  const scans: Promise<void>[] = []
  for (let n = 0; performance.now() < end && (n % 40 > 0 || (await goesOn())); n += 1) {
    const next = sleep(SCAN_MS)
    scans.push(scanOne(n))
    await next
  }
  await Promise.all(scans)
  times.sort((a, b) => a - b)
  return Math.round(times[Math.floor(times.length * 0.99)] ?? 0)

  async function scanOne(n: number): Promise<void> {
    const began = performance.now()
    // Scan passes that the other work has not changed yet, and passes that it has changed.
    const body = { qrPayload: codeOf(26 + (n % SCANNED)), scanContextKey: `${began}` }
    await client.scans.create({ body })
    times.push(performance.now() - began)
  }
}

export function compareScans(arena: Arena, { quiet, busy }: { quiet: number; busy: number }, work: string): void {
  arena.reached('p99 of quiet scans in ms', quiet)
  arena.reached(`p99 of scans next to ${work} in ms`, busy)
  arena.check(busy <= MAX_RATIO * quiet, `the p99 of scans rose from ${quiet} to ${busy} ms`)
}
