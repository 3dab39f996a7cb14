import type { Knex } from 'knex'
import type { LedgerReason, ScanResult } from '../../core/contract/scan-shapes.ts'
import { takeRandom } from '../../core/random.ts'
import { rejections } from '../../core/rules/redemption/scan-decision.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list.ts'
import { narrowProjects, type ProjectScope, withinProjects } from '../db/project-scope.ts'
import { Chains, SALT_BYTES } from '../evidence/chains.ts'
import type { Emit } from '../operations/store-events.ts'
import {
  countAttempts,
  listReplayEntries,
  listReplayedPasses,
  type ReplayEntry,
  type ReplayedPass,
  type ReplayFilter,
} from './replay-rows.ts'
import { type ScanRow, type StoredScan, toScan, toScanRow } from './scan-row.ts'
import {
  countByGate,
  countScans,
  type GateFigures,
  type ScanFigures,
  type ScanStatsRequest,
  sumScans,
} from './scan-stats.ts'
import { countByTime, type TimeFigures, type TimeStatsRequest } from './time-stats.ts'

/** The ledger: every attempt and every reversal. The database itself refuses to change or delete what stands in it. */
export class Scans {
  private readonly db: Knex
  private readonly emit: Emit
  private readonly scope: ProjectScope

  constructor(db: Knex, emit: Emit, scope?: ProjectScope) {
    this.db = db
    this.emit = emit
    this.scope = scope
  }

  /**
   * Returns the ids of the scans that are new: one whose externalRef is taken, by a row of before or of a racing request,
   * is passed over.
   */
  async insert(workspaceId: string, scans: StoredScan[]): Promise<Set<string>> {
    // One order for everyone, so that two sets that hold the same externalRefs never wait for each other.
    const rows = scans.toSorted(byExternalRef).map((scan) => ({
      ...toScanRow(workspaceId, scan),
      chained: true,
      salt: takeRandom(SALT_BYTES),
    }))
    const isNamed = scans.some(({ externalRef }) => externalRef !== null)
    const ending = isNamed ? 'on conflict (workspace_id, external_ref) do nothing returning id' : ''
    const found = await insertRows<{ id: string }>(this.db, 'scans', rows, ending)
    const inserted = new Set((isNamed ? found : rows).map(({ id }) => id))
    await new Chains(this.db).insertPending(workspaceId, 'scans', [...inserted])
    for (const { id, result, reason, verified } of scans) {
      if (inserted.has(id)) this.emit({ what: 'scan', result, reason, verified })
    }
    return inserted
  }

  /** A scan by its id. */
  async find(workspaceId: string, id: string): Promise<StoredScan | undefined> {
    const row: ScanRow | undefined = await this.ofWorkspace(workspaceId).where({ id }).first()
    return row && toScan(row)
  }

  /** Scans by the references that their clients gave; unknown ones are left out. */
  async listByExternalRefs(workspaceId: string, externalRefs: string[]): Promise<StoredScan[]> {
    const rows: ScanRow[] = await this.ofWorkspace(workspaceId).whereIn('external_ref', externalRefs).select()
    return rows.map(toScan)
  }

  /** A page of the ledger, by the time that scans stand for. */
  list(workspaceId: string, request: ScanListRequest): Promise<ListPage<StoredScan>> {
    return listScans(this.db, workspaceId, { ...request, projectId: narrowProjects(this.scope, request.projectId) })
  }

  /** Figures by project. */
  counts(workspaceId: string, request: ScanStatsRequest): Promise<Map<string | null, ScanFigures>> {
    return countScans(this.db, workspaceId, { ...request, projectId: narrowProjects(this.scope, request.projectId) })
  }

  /** Figures by gate, at most so many. */
  countsByGate(workspaceId: string, request: ScanStatsRequest, limit: number): Promise<GateFigures[]> {
    const projectId = narrowProjects(this.scope, request.projectId)
    return countByGate(this.db, workspaceId, { ...request, projectId }, limit)
  }

  /** Attempts over time, by where each stretch begins. */
  countsByTime(workspaceId: string, request: TimeStatsRequest, starts: readonly number[]): Promise<TimeFigures[]> {
    const projectId = narrowProjects(this.scope, request.projectId)
    return countByTime(this.db, workspaceId, { ...request, projectId }, starts)
  }

  /** How many attempts would be evaluated again, at most so many. */
  countAttempts(workspaceId: string, filter: ReplayFilter, limit: number): Promise<number> {
    return countAttempts(this.db, workspaceId, filter, limit, this.scope)
  }

  /** The next passes whose ledger is evaluated again. */
  listReplayedPasses(
    workspaceId: string,
    filter: ReplayFilter,
    page: { after: string | undefined; limit: number },
  ): Promise<ReplayedPass[]> {
    return listReplayedPasses(this.db, workspaceId, filter, page, this.scope)
  }

  /** Of the ledger of passes so many items: of several in no order, of one by their operational time, after one of them. */
  listReplayEntries(
    workspaceId: string,
    passIds: string[],
    page: { after?: ReplayEntry | undefined; limit: number },
  ): Promise<ReplayEntry[]> {
    return listReplayEntries(this.db, workspaceId, passIds, page, this.scope)
  }

  private ofWorkspace(workspaceId: string) {
    return withinProjects(this.db('scans').where({ workspace_id: workspaceId }), this.scope, 'project_id')
  }
}

function byExternalRef({ externalRef: a }: StoredScan, { externalRef: b }: StoredScan): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a < b ? -1 : Number(a > b)
}

/** The filters of the ledger. Several values of one filter are alternatives; different filters must all hold. */
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
  const page = await listPage<ScanRow>(db, query, SPEC, sorted, (rows) => rows.select('scans.*'), count)
  return { ...page, rows: page.rows.map(toScan) }
}

/** How many scans the filters leave, where scans are counted by all that is given. */
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

/** What the ledger calls denied is found by that name; the finer names that scanners are told by the reason that goes with each. */
function conditionOf(result: ScanResult): Record<string, string> {
  const reason = Object.entries(rejections).find(([, rejection]) => rejection === result)?.[0]
  return reason ? { 'scans.reason': reason } : { 'scans.result': result }
}
