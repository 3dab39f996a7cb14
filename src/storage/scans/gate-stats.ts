import type { Knex } from 'knex'
import { gateOf } from '../migrations/0057-scans-by-gate.ts'
import { countsOf } from '../operations/counts.ts'
import { narrowed, ofScans, type ScanStatsRequest, withoutNeedlessBounds } from './scan-stats.ts'

/** Figures of the ledger at one gate. */
export interface GateFigures {
  /** Its first 100 characters; null for scans that name none. */
  gate: string | null
  totalScans: number
  totalDenied: number
  reversed: number
}

/**
 * Figures by gate, those with the most scans first, at most so many. They are counted as they are written, but for scans of a
 * window or a context: these are read along an index.
 */
export async function countByGate(
  db: Knex,
  workspaceId: string,
  request: ScanStatsRequest,
  limit: number,
): Promise<GateFigures[]> {
  const asked = await withoutNeedlessBounds(db, workspaceId, request)
  const { scanContextKey, scanContextFrom, scanContextUntil, scanned } = asked
  const isOfSome = scanContextKey || scanContextFrom || scanContextUntil || scanned?.from || scanned?.to
  const counted = isOfSome
    ? ofScans(narrowed(db('scans').where('scans.workspace_id', workspaceId), 'scans', asked), asked).select(
        sums(db, gateOf(db, 'scans'), (result) => `case when result = '${result}' then 1 else 0 end`),
      )
    : narrowed(countsOf(db, workspaceId, 'scans-by-gate'), 'counts', asked).select(
        sums(db, 'counts.key', (result) => `case when kind like '${result}/%' then n else 0 end`),
      )
  const rows: Record<'gate' | 'scans' | 'denied' | 'reversed', string | number>[] = await counted
    .groupByRaw('1')
    // What an erasure took from a gate leaves a count of nothing.
    .havingRaw(`sum(${isOfSome ? 1 : 'n'}) > 0`)
    .orderByRaw('2 desc, 1')
    .limit(limit)
  return rows.map(({ gate, scans, denied, reversed }) => ({
    gate: (gate as string) || null,
    totalScans: Number(scans),
    totalDenied: Number(denied),
    reversed: Number(reversed),
  }))
}

function sums(db: Knex, gate: string, of: (result: string) => string): Knex.Raw {
  return db.raw(`${gate} as gate, sum(${of('accepted')}) + sum(${of('denied')}) as scans, sum(${of('denied')}) as denied,
    sum(${of('reversal')}) as reversed`)
}
