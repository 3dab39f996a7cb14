import type { Knex } from 'knex'
import { commonStep } from '../../core/rules/lists/buckets.ts'
import { GATE_CHARACTERS, gateOf } from '../operations/counters.ts'
import { narrowed, ofScans, type ScanStatsRequest } from './scan-stats.ts'

/** What attempts over time are narrowed by. */
export interface TimeStatsRequest extends ScanStatsRequest {
  /** Its first characters tell a gate, as where figures are counted by it. */
  gate?: string[] | undefined
}

/** Attempts of one bucket. */
export interface TimeFigures {
  at: Date
  totalScans: number
  totalDenied: number
}

/**
 * Attempts, and those denied, of each bucket, by where buckets begin (ascending); those of the window of the request alone.
 * The database counts in equal steps, of which each bucket is one or several.
 */
export async function countByTime(
  db: Knex,
  workspaceId: string,
  request: TimeStatsRequest,
  starts: readonly number[],
): Promise<TimeFigures[]> {
  const [first] = starts
  if (first === undefined) return []
  // Written into the statement: a bound number may be a fraction to SQLite, which then divides without rounding down.
  const step = commonStep(starts) || Number.MAX_SAFE_INTEGER
  const scans = narrowed(db('scans').where('scans.workspace_id', workspaceId), 'scans', request)
  if (request.gate) {
    const gates = request.gate.map((gate) => [...gate].slice(0, GATE_CHARACTERS).join(''))
    scans.whereIn(db.raw(gateOf(db, 'scans')) as never, gates)
  }
  const rows: { step: number; n: number; denied: number }[] = await ofScans(scans, request)
    .groupBy('step')
    .select(
      db.raw(`(scanned_at - ${first}) / ${step} as step`),
      db.raw(`count(*) filter (where result <> 'reversal') as n`),
      db.raw(`count(*) filter (where result = 'denied') as denied`),
    )
  const buckets = starts.map((start) => ({ at: new Date(start), totalScans: 0, totalDenied: 0 }))
  for (const row of rows) {
    const at = first + row.step * step
    const bucket = buckets[starts.findLastIndex((start) => start <= at)]!
    bucket.totalScans += row.n
    bucket.totalDenied += row.denied
  }
  return buckets
}
