import type { Knex } from 'knex'
import type { RedemptionPolicy } from '../../core/contract/redemption.ts'
import type { LedgerEntry } from '../../core/rules/redemption/replay.ts'
import { toDate } from '../db/dialect.ts'
import { type ProjectScope, withinProjects } from '../db/project-scope.ts'
import type { ScanRow } from './scan-row.ts'

/** Selects the attempts to evaluate again. */
export interface ReplayFilter {
  projectId: string
  templateId?: string | undefined
  from: Date
  to: Date
}

/** An item of the ledger with the fields by which pages continue. */
export interface ReplayEntry extends LedgerEntry {
  passId: string
  gate: string | null
}

/** A pass whose ledger can be evaluated again. */
export interface ReplayedPass {
  id: string
  expiresAt: Date | null
}

/** Counts the attempts in the window, up to `limit`. Uses the index of a project. */
export async function countAttempts(
  db: Knex,
  workspaceId: string,
  { projectId, templateId, from, to }: ReplayFilter,
  limit: number,
  scope: ProjectScope,
): Promise<number> {
  const some = withinProjects(db('scans'), scope, 'project_id')
    .where({ workspace_id: workspaceId, project_id: projectId })
    .where('scanned_at', '>=', from.getTime())
    .where('scanned_at', '<=', to.getTime())
    .whereNot({ result: 'reversal' })
    .limit(limit)
    .select({ one: db.raw('1') })
  if (templateId !== undefined) some.where({ template_id: templateId })
  const [{ n }] = await db.from(some.as('some')).count({ n: '*' })
  return Number(n)
}

/** Returns the next passes of a project, by ID. */
export async function listReplayedPasses(
  db: Knex,
  workspaceId: string,
  { projectId, templateId }: ReplayFilter,
  { after, limit }: { after: string | undefined; limit: number },
  scope: ProjectScope,
): Promise<ReplayedPass[]> {
  const query = withinProjects(db('passes'), scope, 'project_id')
    .where({ workspace_id: workspaceId, project_id: projectId })
    .orderBy('id')
    .limit(limit)
  if (templateId !== undefined) query.where({ template_id: templateId })
  if (after !== undefined) query.where('id', '>', after)
  const rows: { id: string; expires_at: number | null }[] = await query.select('id', 'expires_at')
  return rows.map(({ id, expires_at }) => ({ id, expiresAt: toDate(expires_at) }))
}

const COLUMNS = [
  'id',
  'pass_id',
  'result',
  'reason',
  'conflict',
  'scanned_at',
  'recorded_at',
  'scan_context_key',
  'validate_as_of',
  'redemption',
  'reverses_scan_id',
  'context',
] as const

type Row = Pick<ScanRow, (typeof COLUMNS)[number]>

/**
 * Returns the ledger of passes: for several passes up to `limit` items in any order, for one pass the next items by operational
 * time.
 */
export async function listReplayEntries(
  db: Knex,
  workspaceId: string,
  passIds: string[],
  { after, limit }: { after?: ReplayEntry | undefined; limit: number },
  scope: ProjectScope,
): Promise<ReplayEntry[]> {
  const query = withinProjects(db('scans'), scope, 'project_id')
    .where({ workspace_id: workspaceId })
    .whereIn('pass_id', passIds)
    .limit(limit)
  if (passIds.length === 1) query.orderBy('scanned_at').orderBy('id')
  if (after) query.whereRaw('(scanned_at, id) > (:at, :id)', { at: after.scannedAt.getTime(), id: after.id })
  const rows: Row[] = await query.select(...COLUMNS)
  return rows.map(toEntry)
}

function toEntry(row: Row): ReplayEntry {
  return {
    id: row.id,
    passId: row.pass_id!,
    result: row.result,
    reason: row.reason,
    conflict: row.conflict,
    scannedAt: new Date(row.scanned_at),
    recordedAt: new Date(row.recorded_at),
    scanContextKey: row.scan_context_key,
    validateAsOf: row.validate_as_of,
    redemption: row.redemption === null ? null : policyOf(row.redemption),
    reversesScanId: row.reverses_scan_id,
    gate: row.context === null ? null : (JSON.parse(row.context).gate ?? null),
  }
}

/** Most scans of a project use one of a few policies, so parse and store each policy once. */
const policies = new Map<string, RedemptionPolicy>()
const MAX_POLICIES = 100

function policyOf(text: string): RedemptionPolicy {
  const known = policies.get(text)
  if (known) return known
  if (policies.size >= MAX_POLICIES) policies.clear()
  const policy: RedemptionPolicy = JSON.parse(text)
  policies.set(text, policy)
  return policy
}
