import type { Knex } from 'knex'
import { commonStep } from '../../core/rules/lists/buckets.ts'
import { GATE_CHARACTERS, gateOf } from '../operations/counters.ts'
import { narrowed, ofScans, type ScanStatsRequest } from './scan-stats.ts'

/** The filters of statistics over time. */
export interface TimeStatsRequest extends ScanStatsRequest {
  /** Matched by the first characters, as in the counters by gate. */
  gate?: string[] | undefined
}

export interface TimeFigures {
  at: Date
  totalScans: number
  totalDenied: number
}

/**
 * Counts the attempts and denials per bucket, within the window of the request. `starts` contains the beginnings of the buckets
 * in ascending order. The database counts in equal steps, and a bucket consists of one or more steps.
 */
export async function countByTime(
  db: Knex,
  workspaceId: string,
  request: TimeStatsRequest,
  starts: readonly number[],
): Promise<TimeFigures[]> {
  const [first] = starts
  if (first === undefined) return []
  // A literal, because SQLite can treat a bound number as a fraction and divide without rounding down.
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
