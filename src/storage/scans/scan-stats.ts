import type { Knex } from 'knex'
import { moment } from '../db/dialect.ts'

/** What figures of the ledger are narrowed by (spec 4.13). */
export interface ScanStatsRequest {
  projectId?: string[] | undefined
  templateId?: string[] | undefined
  scanContextKey?: string[] | undefined
  scanContextFrom?: string[] | undefined
  scanContextUntil?: string[] | undefined
  scanned?: { from?: Date; to?: Date } | undefined
}

export interface ScanFigures {
  totalPasses: number
  redeemed: number
  totalScans: number
  totalDenied: number
  lastScanAt: Date | null
}

const NONE: ScanFigures = { totalPasses: 0, redeemed: 0, totalScans: 0, totalDenied: 0, lastScanAt: null }

/**
 * Figures by project, in the order of their ids; under null, which comes last, what belongs to none. Scans stay in the
 * project that the ledger shows, also after it was deleted; its passes belong to none then. Each of the counting statements
 * goes along an index of the project and reads no row.
 */
export async function countScans(
  db: Knex,
  workspaceId: string,
  request: ScanStatsRequest,
): Promise<Map<string | null, ScanFigures>> {
  const own = (table: string) => narrowed(db(table).where(`${table}.workspace_id`, workspaceId), table, request)
  const [passes, redeemed, scans] = await Promise.all([
    own('passes').groupBy('project_id').select('project_id').count({ n: '*' }),
    ofScans(own('accepted_scans'), request).groupBy('project_id').select('project_id').countDistinct({ n: 'pass_id' }),
    ofScans(own('scans'), request)
      .whereNot('result', 'reversal')
      .groupBy('project_id', 'result')
      .select('project_id', 'result')
      .max({ last: 'scanned_at' })
      .count({ n: '*' }),
  ])
  const named = [...passes, ...redeemed].map(({ project_id }: { project_id?: string | null }) => project_id)
  const known = await existing(db, workspaceId, [...new Set(named)])
  const present = (projectId: string | null) => (projectId !== null && known.has(projectId) ? projectId : null)
  const figures = new Map<string | null, ScanFigures>()
  const add = (projectId: string | null, part: (sum: ScanFigures) => Partial<ScanFigures>) => {
    const sum = figures.get(projectId) ?? NONE
    figures.set(projectId, { ...sum, ...part(sum) })
  }
  for (const { project_id, n } of passes as Row[]) {
    add(present(project_id), (sum) => ({ totalPasses: sum.totalPasses + n }))
  }
  for (const { project_id, n } of redeemed as Row[]) {
    add(present(project_id), (sum) => ({ redeemed: sum.redeemed + n }))
  }
  for (const { project_id, result, n, last } of scans as (Row & { result: string; last: number })[]) {
    add(project_id, (sum) => ({
      totalScans: sum.totalScans + n,
      totalDenied: sum.totalDenied + (result === 'denied' ? n : 0),
      lastScanAt: moment(Math.max(last, sum.lastScanAt?.getTime() ?? last)),
    }))
  }
  // Passes of a project that is being deleted no longer belong to it.
  if (request.projectId) figures.delete(null)
  return new Map([...figures].sort(([a], [b]) => (b === null || (a !== null && a < b) ? -1 : 1)))
}

export function sumFigures(parts: Iterable<ScanFigures>): ScanFigures {
  return [...parts].reduce(
    (sum, part) => ({
      totalPasses: sum.totalPasses + part.totalPasses,
      redeemed: sum.redeemed + part.redeemed,
      totalScans: sum.totalScans + part.totalScans,
      totalDenied: sum.totalDenied + part.totalDenied,
      lastScanAt:
        !sum.lastScanAt || (part.lastScanAt && part.lastScanAt > sum.lastScanAt) ? part.lastScanAt : sum.lastScanAt,
    }),
    NONE,
  )
}

async function existing(db: Knex, workspaceId: string, ids: (string | null | undefined)[]): Promise<Set<string>> {
  const given = ids.filter((id) => typeof id === 'string')
  return new Set(await db('projects').where({ workspace_id: workspaceId }).whereIn('id', given).pluck('id'))
}

interface Row {
  project_id: string | null
  n: number
}

function narrowed(query: Knex.QueryBuilder, table: string, { projectId, templateId }: ScanStatsRequest) {
  if (projectId) query.whereIn(`${table}.project_id`, projectId)
  if (templateId) query.whereIn(`${table}.template_id`, templateId)
  return query
}

function ofScans(query: Knex.QueryBuilder, request: ScanStatsRequest): Knex.QueryBuilder {
  const { scanContextKey, scanContextFrom, scanContextUntil, scanned } = request
  if (scanContextKey) query.whereIn('scan_context_key', scanContextKey)
  // Scans without a context stand in no range, however wide.
  if (scanContextFrom) whereAnyBound(query, '>=', scanContextFrom)
  if (scanContextUntil) whereAnyBound(query, '<=', scanContextUntil).whereNot('scan_context_key', '')
  if (scanned?.from) query.where('scanned_at', '>=', scanned.from.getTime())
  if (scanned?.to) query.where('scanned_at', '<=', scanned.to.getTime())
  return query
}

/** The database compares, since only it knows the order of its text. */
function whereAnyBound(query: Knex.QueryBuilder, comparison: '>=' | '<=', keys: string[]): Knex.QueryBuilder {
  return query.where((or) => {
    for (const key of keys) or.orWhere('scan_context_key', comparison, key)
  })
}
