import type { Knex } from 'knex'
import type { LedgerReason, ScanResult } from '../../core/contract/scan-shapes.ts'
import { refusals } from '../../core/rules/redemption/scan-reasons.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list.ts'
import { type ScanRow, type StoredScan, toScan } from './scan-row.ts'

/** Filters of spec 4.13. Several values of one filter are alternatives; different filters must all hold. */
export interface ScanListRequest extends Omit<ListRequest, 'sortBy' | 'sortDir'> {
  passId?: string[] | undefined
  projectId?: string[] | undefined
  templateId?: string[] | undefined
  result?: ScanResult[] | undefined
  resultGroup?: 'denied'[] | undefined
  reason?: LedgerReason[] | undefined
  scanContextKey?: string[] | undefined
  scanned?: { from?: Date; to?: Date } | undefined
}

/** Newest first, by the operational time. */
const SPEC: ListSpec = { name: 'scans', id: 'scans.id', sorts: { scannedAt: { key: 'scans.scanned_at' } } }

export async function listScans(
  db: Knex,
  workspaceId: string,
  request: ScanListRequest,
): Promise<ListPage<StoredScan>> {
  const query = db('scans').where('scans.workspace_id', workspaceId)
  const { passId, projectId, templateId, result, resultGroup, reason, scanContextKey, scanned } = request
  const columns = {
    pass_id: passId,
    project_id: projectId,
    template_id: templateId,
    reason,
    scan_context_key: scanContextKey,
  }
  for (const [column, values] of Object.entries(columns)) whereAny(query, `scans.${column}`, values)
  whereAny(query, 'scans.result', resultGroup)
  if (result) {
    query.where((or) => {
      for (const value of result) or.orWhere(conditionOf(value))
    })
  }
  if (scanned?.from) query.where('scans.scanned_at', '>=', scanned.from.getTime())
  if (scanned?.to) query.where('scans.scanned_at', '<=', scanned.to.getTime())
  const walk: ListRequest = { ...request, sortBy: 'scannedAt', sortDir: 'desc' }
  const page = await listPage<ScanRow>(db, query, SPEC, walk, (rows) => rows.select('scans.*'))
  return { ...page, rows: page.rows.map(toScan) }
}

function whereAny(query: Knex.QueryBuilder, column: string, values: string[] | undefined): void {
  if (!values) return
  const [only, ...others] = new Set(values)
  if (only !== undefined && others.length === 0) query.where(column, only)
  else query.whereIn(column, values)
}

/** What the ledger calls denied is found by that name; the finer names of spec 2.7 by the reason that goes with each. */
function conditionOf(result: ScanResult): Record<string, string> {
  const reason = Object.entries(refusals).find(([, refusal]) => refusal === result)?.[0]
  return reason ? { 'scans.reason': reason } : { 'scans.result': result }
}
