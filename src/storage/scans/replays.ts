import type { RedemptionPolicy } from '../../core/contract/schemas/redemption.ts'
import type { ScanContext } from '../../core/contract/schemas/scan-shapes.ts'
import type { LedgerEntry } from '../../core/rules/redemption/replay.ts'
import { field, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'

export interface ReplayFilter {
  projectId: string
  templateId?: string | undefined
  from: Date
  to: Date
}

export interface ReplayEntry extends LedgerEntry {
  passId: string
  gate: string | null
}

const PASS = mapping({ id: field.text, expiresAt: field.optionalTime })

export interface ReplayedPass extends RecordOf<typeof PASS> {}

/** The ledger of a project, for an evaluation under another policy. */
export class Replays extends Repository {
  /** Counts the attempts in the time window, up to `limit`. Uses an index that starts with the project. */
  async countAttempts(
    workspaceId: string,
    { projectId, templateId, from, to }: ReplayFilter,
    limit: number,
  ): Promise<number> {
    const some = this.inScope(this.db('scans'), 'project_id')
      .where({ workspace_id: workspaceId, project_id: projectId })
      .where('scanned_at', '>=', from.getTime())
      .where('scanned_at', '<=', to.getTime())
      .whereNot({ result: 'reversal' })
      .limit(limit)
      .select({ one: this.db.raw('1') })
    if (templateId !== undefined) some.where({ template_id: templateId })
    return countRows(this.db.from(some.as('some')))
  }

  /** Returns the passes of a project after `after`, ordered by ID. */
  async listPasses(
    workspaceId: string,
    { projectId, templateId }: ReplayFilter,
    { after, limit }: { after: string | undefined; limit: number },
  ): Promise<ReplayedPass[]> {
    const query = this.inScope(this.db('passes'), 'project_id')
      .where({ workspace_id: workspaceId, project_id: projectId })
      .orderBy('id')
      .limit(limit)
    if (templateId !== undefined) query.where({ template_id: templateId })
    if (after !== undefined) query.where('id', '>', after)
    return listRecords(query.select(PASS.columns), PASS.read)
  }

  /**
   * Returns up to `limit` ledger entries of passes, in any order. For a single pass, returns the entries after `after`,
   * ordered by scan time.
   */
  async listEntries(
    workspaceId: string,
    passIds: string[],
    { after, limit }: { after?: ReplayEntry | undefined; limit: number },
  ): Promise<ReplayEntry[]> {
    const query = this.inScope(this.db('scans'), 'project_id')
      .where({ workspace_id: workspaceId })
      .whereIn('pass_id', passIds)
      .limit(limit)
    if (passIds.length === 1) query.orderBy('scanned_at').orderBy('id')
    if (after) query.whereRaw('(scanned_at, id) > (:at, :id)', { at: after.scannedAt.getTime(), id: after.id })
    const rows: RowOf<typeof ENTRY>[] = await query.select(ENTRY.columns)
    return rows.map((row) => {
      const { context, redemption, ...entry } = ENTRY.read(row)
      return {
        ...entry,
        gate: context?.gate ?? null,
        // A policy can have 30 KB, so parse it when the entry is evaluated, not for all rows in advance.
        get redemption() {
          return redemption === null ? null : policyOf(redemption)
        },
      }
    })
  }
}

/** Parsed policies by their JSON. Most scans of a project use one of a few policies. */
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

const ENTRY = mapping({
  id: field.text,
  passId: field.text,
  result: field.plain<LedgerEntry['result']>(),
  reason: field.plain<LedgerEntry['reason']>(),
  conflict: field.plain<LedgerEntry['conflict']>(),
  scannedAt: field.time,
  recordedAt: field.time,
  scanContextKey: field.optionalText,
  validateAsOf: field.optionalText,
  redemption: field.optionalText,
  reversesScanId: field.optionalText,
  direction: field.plain<LedgerEntry['direction']>(),
  useScanId: field.optionalText,
  context: field.nullable(field.json<ScanContext>()),
})
