import type { Knex } from 'knex'
import type { LedgerReason, ScanResult } from '../../core/contract/schemas/scan-shapes.ts'
import { takeRandom } from '../../core/ids.ts'
import { rejections } from '../../core/rules/redemption/scan-reasons.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list-query.ts'
import { findRecord, listRecords } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { Chains, SALT_BYTES } from '../evidence/chains.ts'
import { SCAN, type StoredScan } from './scan-row.ts'
import { sumScans } from './scan-stats.ts'

/** The ledger of all attempts and reversals. The database rejects every change of a row, except the erasure of personal
 * data and the addition to the hash chain. */
export class Scans extends Repository {
  /**
   * Returns the IDs of the inserted scans. Skips scans whose externalRef is in use, including by a concurrent request.
   */
  async insert(workspaceId: string, scans: StoredScan[]): Promise<Set<string>> {
    // Sort the scans. Otherwise, two batches with the same externalRefs could deadlock.
    const rows = scans.toSorted(byExternalRef).map((scan) => ({
      ...SCAN.write(scan),
      workspace_id: workspaceId,
      chained: true,
      salt: takeRandom(SALT_BYTES),
    }))
    const isNamed = scans.some(({ externalRef }) => externalRef !== null)
    const ending = isNamed ? 'on conflict (workspace_id, external_ref) do nothing returning id' : ''
    const found = await insertRows<{ id: string }>(this.db, 'scans', rows, ending)
    const inserted = new Set((isNamed ? found : rows).map(({ id }) => id))
    await new Chains(this.connected).insertPending(workspaceId, 'scans', [...inserted])
    for (const { id, result, reason, verified } of scans) {
      if (inserted.has(id)) this.emit({ what: 'scan', result, reason, verified })
    }
    return inserted
  }

  async find(workspaceId: string, id: string): Promise<StoredScan | undefined> {
    return findRecord(this.ofWorkspace(workspaceId).where({ id }), SCAN.read)
  }

  async listByExternalRefs(workspaceId: string, externalRefs: string[]): Promise<StoredScan[]> {
    return listRecords(this.ofWorkspace(workspaceId).whereIn('external_ref', externalRefs), SCAN.read)
  }

  /** Returns a page of the ledger, newest first by `scannedAt`. */
  list(workspaceId: string, request: ScanListRequest): Promise<ListPage<StoredScan>> {
    return listScans(this.db, workspaceId, { ...request, projectId: this.narrow(request.projectId) })
  }

  private ofWorkspace(workspaceId: string) {
    return this.inScope(this.db('scans').where({ workspace_id: workspaceId }), 'project_id')
  }
}

function byExternalRef({ externalRef: a }: StoredScan, { externalRef: b }: StoredScan): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a < b ? -1 : Number(a > b)
}

/** The filters of the ledger. Values of one filter are alternatives. All filters must match. */
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

const SPEC: ListSpec = { name: 'scans', id: 'scans.id', sorts: { scannedAt: { key: 'scans.scanned_at' } } }

async function listScans(db: Knex, workspaceId: string, request: ScanListRequest): Promise<ListPage<StoredScan>> {
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
  const sorted: ListRequest = { ...request, sortBy: 'scannedAt', sortDir: 'desc' }
  const isCounted = !passId && !scanned?.from && !scanned?.to
  const count = isCounted ? () => countListed(db, workspaceId, request) : undefined
  return listPage(db, query, SPEC, sorted, SCAN.read, undefined, count)
}

/** Counts the scans that match the filters. The counters must cover all filters of the request. */
async function countListed(db: Knex, workspaceId: string, request: ScanListRequest): Promise<number> {
  const { projectId, templateId, result, resultGroup, reason, scanContextKey } = request
  const rows = await sumScans(db, workspaceId, { projectId, templateId, scanContextKey })
  const isListed = (row: Record<'scans.result' | 'scans.reason', string>) =>
    (!reason || reason.some((one) => one === row['scans.reason'])) &&
    (!resultGroup || resultGroup.some((one) => one === row['scans.result'])) &&
    (!result ||
      result.some((one) =>
        Object.entries(conditionOf(one)).every(([name, value]) => row[name as keyof typeof row] === value),
      ))
  return rows.reduce(
    (sum, { result, reason, n }) => (isListed({ 'scans.result': result, 'scans.reason': reason }) ? sum + n : sum),
    0,
  )
}

function whereAny(query: Knex.QueryBuilder, column: string, values: string[] | undefined): void {
  if (!values) return
  const [only, ...others] = new Set(values)
  if (only !== undefined && others.length === 0) query.where(column, only)
  else query.whereIn(column, values)
}

/** Returns the condition for a result of the API. The ledger stores a specific rejection as `denied` with a reason. */
function conditionOf(result: ScanResult): Record<string, string> {
  const reason = Object.entries(rejections).find(([, rejection]) => rejection === result)?.[0]
  return reason ? { 'scans.reason': reason } : { 'scans.result': result }
}
