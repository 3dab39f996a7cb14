import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import type { RedemptionPolicy } from '../../core/contract/schemas/redemption.ts'
import { groupBy } from '../../core/group-by.ts'
import { idBound } from '../../core/ids.ts'
import type { BalanceSums } from '../../core/rules/balances/balances.ts'
import { rowsOfPasses } from '../db/dialect.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { type ChangePlace, type ChangesRequest, Snapshots } from './snapshots.ts'

export interface SnapshotRequest {
  /** The project of the passes; null for all passes of the workspace. */
  projectId: string | null
  /** The latest creation time to include. Without a limit, new passes could add pages without end. */
  madeUntil: Date
  /** The ID of the last pass of the previous page. */
  after?: string
  limit: number
}

export interface SnapshotChanges {
  rows: SnapshotEntry[]
  /** The IDs of erased passes. */
  removed: string[]
  /** The start of the next page; null on the last page. */
  next: ChangePlace | null
}

const ENTRY = mapping({
  passId: field.text,
  externalPassId: field.text,
  label: field.text,
  templateName: field.text,
  templateVersionId: field.text,
  groupId: field.optionalText,
  /** The stored status, which can still be ISSUED after `expiresAt`. */
  status: field.plain<PassStatus>(),
  expiresAt: field.optionalTime,
  redemption: field.nullable(field.json<RedemptionPolicy>()),
  balanceSums: field.nullable(field.json<BalanceSums>()),
})

const ACCEPTED = mapping({ scannedAt: field.time, scanContextKey: field.text, validityDate: field.optionalText })

/** The data that a scanner needs to evaluate a pass offline. */
export interface SnapshotEntry extends RecordOf<typeof ENTRY> {
  /** The SHA-256 digests of the scannable codes, in hexadecimal. */
  identifiers: string[]
  staleIdentifiers: string[]
  acceptedScans: RecordOf<typeof ACCEPTED>[]
}

interface PassRow extends RowOf<typeof ENTRY> {
  erased_at: number | null
}

interface ScanRow extends RowOf<typeof ACCEPTED> {
  pass_id: string
}

/** The number of scans after which a page ends early, so that memory use does not grow with the history. */
const SCANS_PER_PAGE = 10_000

/** The maximum number of scans that are returned per pass: the newest ones. No policy counts more scans. */
const SCANS_PER_PASS = 100_000

/** Passes in the form that scanners download, ordered by ID. */
export class SnapshotEntries extends Repository {
  /**
   * Returns the passes that changed between two snapshots, in their current state. The cost depends only on the number
   * of changes.
   */
  async listChanges(
    workspaceId: string,
    request: ChangesRequest & { after?: ChangePlace | undefined; limit: number },
  ): Promise<SnapshotChanges> {
    const changes = { ...request, limit: request.limit + 1 }
    const found = await new Snapshots(this.connected).listChanged(workspaceId, changes)
    for (let size = request.limit; ; size = Math.ceil(size / 2)) {
      const page = found.slice(0, size)
      const ids = [...new Set(page.map(({ passId }) => passId))]
      const scans = await this.scansOf(workspaceId, ids)
      if (!scans) continue
      const passes: PassRow[] = await this.columns(workspaceId, request.since.projectId).whereIn('passes.id', ids)
      const kept = passes.filter((pass) => pass.erased_at === null)
      const identifiers = await this.identifiers(workspaceId, kept)
      return {
        rows: kept.map((pass) => toEntry(pass, identifiers.get(pass.pass_id) ?? [], scans.get(pass.pass_id) ?? [])),
        removed: passes.filter((pass) => pass.erased_at !== null).map((pass) => pass.pass_id),
        next: found.length > page.length ? page.at(-1)!.place : null,
      }
    }
  }

  /** Returns the accepted scans of passes; `undefined` if several passes have more than SCANS_PER_PAGE in total. */
  private async scansOf(workspaceId: string, ids: string[]): Promise<Map<string, ScanRow[]> | undefined> {
    const found: ScanRow[] = await this.scans(workspaceId, ids).limit(SCANS_PER_PAGE + 1)
    if (found.length <= SCANS_PER_PAGE) return groupBy(found, passOf)
    const [only, ...others] = ids
    return others.length > 0 ? undefined : new Map([[only!, await this.newestScans(workspaceId, only!)]])
  }

  /** Returns a page of passes in their current state. Uses three statements per page. */
  async list(workspaceId: string, request: SnapshotRequest): Promise<{ rows: SnapshotEntry[]; hasMore: boolean }> {
    const found = await this.passes(workspaceId, request)
    const page = found.slice(0, request.limit)
    const { passes, scans } = await this.withScans(workspaceId, page)
    const identifiers = await this.identifiers(workspaceId, passes)
    const rows = passes.map((pass) => toEntry(pass, identifiers.get(pass.pass_id) ?? [], scans.get(pass.pass_id) ?? []))
    return { rows, hasMore: found.length > passes.length }
  }

  private passes(workspaceId: string, { projectId, madeUntil, after, limit }: SnapshotRequest): Promise<PassRow[]> {
    const query = this.columns(workspaceId, projectId)
      .where('passes.id', '<', idBound(madeUntil.getTime() + 1))
      .whereNull('passes.erased_at')
      .orderBy('passes.id')
      .limit(limit + 1)
    if (after !== undefined) query.where('passes.id', '>', after)
    return query as unknown as Promise<PassRow[]>
  }

  private columns(workspaceId: string, projectId: string | null): Knex.QueryBuilder {
    const query = this.inScope(this.db('passes'), 'passes.project_id')
      .join('templates', 'templates.id', 'passes.template_id')
      .where('passes.workspace_id', workspaceId)
      .select(ENTRY.from('passes', { pass_id: 'passes.id', template_name: 'templates.name' }), 'passes.erased_at')
    return projectId === null ? query : query.where('passes.project_id', projectId)
  }

  /** Returns the first passes of a page with their scans: as many as SCANS_PER_PAGE allows, but at least one. */
  private async withScans(workspaceId: string, page: PassRow[]) {
    const ids = page.map((pass) => pass.pass_id)
    const all = this.scans(workspaceId, ids).orderBy('pass_id')
    const found: ScanRow[] = await all.limit(SCANS_PER_PAGE + 1)
    if (found.length <= SCANS_PER_PAGE) return { passes: page, scans: groupBy(found, passOf) }
    // The limit can cut off scans of the last pass that was read, so end the page before this pass.
    const cut = ids.indexOf(found.at(-1)!.pass_id)
    const passes = page.slice(0, Math.max(1, cut))
    const scans = groupBy(found, passOf)
    if (cut === 0) scans.set(ids[0]!, await this.newestScans(workspaceId, ids[0]!))
    return { passes, scans }
  }

  private newestScans(workspaceId: string, passId: string): Promise<ScanRow[]> {
    return this.scans(workspaceId, [passId]).orderBy('scanned_at', 'desc').limit(SCANS_PER_PASS)
  }

  private scans(workspaceId: string, passIds: string[]) {
    return this.db('accepted_scans')
      .where({ workspace_id: workspaceId })
      .whereIn('pass_id', passIds)
      .select('pass_id', ...ACCEPTED.columns)
  }

  private async identifiers(workspaceId: string, passes: PassRow[]) {
    if (passes.length === 0) return new Map<string, never>()
    const ids = passes.map((pass) => pass.pass_id)
    const found = rowsOfPasses(this.db, 'pass_identifiers', workspaceId, ids).select('pass_id', 'digest', 'active')
    const rows: { pass_id: string; digest: Buffer; active: boolean | number }[] = await found
    return groupBy(rows, passOf)
  }
}

function toEntry(
  pass: PassRow,
  identifiers: { digest: Buffer; active: boolean | number }[],
  scans: ScanRow[],
): SnapshotEntry {
  const digests = (isActive: boolean) =>
    identifiers.filter(({ active }) => Boolean(active) === isActive).map(({ digest }) => digest.toString('hex'))
  return {
    ...ENTRY.read(pass),
    identifiers: digests(true),
    staleIdentifiers: digests(false),
    acceptedScans: scans.toSorted((a, b) => a.scanned_at - b.scanned_at).map(ACCEPTED.read),
  }
}

const passOf = (row: { pass_id: string }) => row.pass_id
