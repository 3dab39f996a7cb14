import type { Knex } from 'knex'
import type { PassStatus } from '../core/contract/passes.ts'
import type { RedemptionPolicy } from '../core/contract/redemption.ts'
import type { ErrorCode } from '../core/errors.ts'
import { indexedVariables, searchText } from '../core/rules/search.ts'
import type { Variables } from '../core/rules/variables.ts'
import { forUpdate, forUpdateSkipLocked, insertMany } from './dialect.ts'
import { moment } from './moment.ts'

/** A pass as it is stored. Its status is the stored one: an ISSUED pass past expiresAt reads as EXPIRED. */
export interface StoredPass {
  id: string
  workspaceId: string
  externalPassId: string
  label: string
  status: PassStatus
  version: number
  revision: number
  walletVersion: number
  templateId: string
  templateVersionId: string
  templateVersion: number
  /** Null when the template was deleted. */
  latestTemplateVersion: number | null
  /** Null also when the project was deleted. */
  projectId: string | null
  projectName: string | null
  templateName: string
  variables: Variables
  redemption: RedemptionPolicy | null
  expiresAt: Date | null
  scanCode: string
  appleToken: string
  linkGeneration: number
  createdAt: Date
  updatedAt: Date
}

/** What the caller of insert decides; counters and status start where a new pass starts. */
export type NewPass = Pick<
  StoredPass,
  | 'id'
  | 'externalPassId'
  | 'label'
  | 'templateId'
  | 'templateVersionId'
  | 'templateVersion'
  | 'projectId'
  | 'variables'
  | 'redemption'
  | 'expiresAt'
  | 'scanCode'
  | 'appleToken'
> & {
  /** SHA-256 of what a scanner reads off the pass. */
  identifierDigest: Uint8Array
}

export interface PassError {
  code: ErrorCode
  message: string
}

interface Row {
  id: string
  workspace_id: string
  external_pass_id: string
  label: string
  status: PassStatus
  version: number
  revision: number
  wallet_version: number
  template_id: string
  template_version_id: string
  template_version: number
  latest_template_version: number | null
  project_id: string | null
  project_name: string | null
  template_name: string
  variables: string
  redemption: string | null
  expires_at: number | null
  scan_code: string
  apple_token: string
  link_generation: number
  created_at: number
  updated_at: number
}

export class Passes {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async find(workspaceId: string, id: string): Promise<StoredPass | undefined> {
    const row: Row | undefined = await this.select(workspaceId).where('passes.id', id).first()
    return row && toPass(row)
  }

  async listByIds(workspaceId: string, ids: string[]): Promise<StoredPass[]> {
    return (await this.select(workspaceId).whereIn('passes.id', ids)).map(toPass)
  }

  async listByExternalIds(workspaceId: string, externalPassIds: string[]): Promise<StoredPass[]> {
    return (await this.select(workspaceId).whereIn('passes.external_pass_id', externalPassIds)).map(toPass)
  }

  /**
   * Inserts passes as QUEUED with their search rows, and returns the ids of those that are new: an externalPassId that
   * is taken, by a row of before or of a racing request, is passed over.
   */
  async insert(workspaceId: string, passes: NewPass[], at: Date): Promise<Set<string>> {
    if (passes.length === 0) return new Set()
    const now = at.getTime()
    const rows = passes.map((pass) => ({
      id: pass.id,
      workspace_id: workspaceId,
      external_pass_id: pass.externalPassId,
      label: pass.label,
      status: 'QUEUED',
      version: 1,
      revision: 1,
      wallet_version: 1,
      template_id: pass.templateId,
      template_version_id: pass.templateVersionId,
      template_version: pass.templateVersion,
      project_id: pass.projectId,
      variables: JSON.stringify(pass.variables),
      redemption: pass.redemption && JSON.stringify(pass.redemption),
      expires_at: pass.expiresAt?.getTime() ?? null,
      scan_code: pass.scanCode,
      apple_token: pass.appleToken,
      link_generation: 0,
      search: searchText(pass),
      created_at: now,
      updated_at: now,
    }))
    const inserted = new Set<string>(
      await this.db('passes')
        .insert(rows)
        .onConflict(['workspace_id', 'external_pass_id'])
        .ignore()
        .returning('id')
        .then((result: { id: string }[]) => result.map((row) => row.id)),
    )
    const created = passes.filter((pass) => inserted.has(pass.id))
    await insertMany(
      this.db,
      'pass_identifiers',
      created.map((pass) => ({
        workspace_id: workspaceId,
        digest: pass.identifierDigest,
        pass_id: pass.id,
        active: true,
      })),
    )
    await insertMany(
      this.db,
      'pass_variables',
      created.flatMap((pass) =>
        indexedVariables(pass.variables).map((pair) => ({ workspace_id: workspaceId, ...pair, pass_id: pass.id })),
      ),
    )
    return inserted
  }

  /** QUEUED passes become ISSUING: a worker took them. */
  async setIssuing(workspaceId: string, ids: string[], at: Date): Promise<void> {
    await this.transition(workspaceId, ids, ['QUEUED'], { status: 'ISSUING' }, at)
  }

  /** ISSUING passes become QUEUED again: their worker died. */
  async setQueued(workspaceId: string, ids: string[], at: Date): Promise<void> {
    await this.transition(workspaceId, ids, ['ISSUING'], { status: 'QUEUED' }, at)
  }

  /** Revisions of the passes that are still to be issued, held until the transaction ends. */
  async lockUnissued(workspaceId: string, ids: string[]): Promise<Map<string, number>> {
    const rows: { id: string; revision: number }[] = await forUpdate(
      this.db,
      this.db('passes')
        .where({ workspace_id: workspaceId })
        .whereIn('id', ids)
        .whereIn('status', ['QUEUED', 'ISSUING'])
        // One order for everyone, so that two workers never wait for each other.
        .orderBy('id')
        .select('id', 'revision'),
    )
    return new Map(rows.map((row) => [row.id, row.revision]))
  }

  async setIssued(workspaceId: string, ids: string[], at: Date): Promise<void> {
    const change = { status: 'ISSUED', issued_at: at.getTime(), error: null }
    await this.transition(workspaceId, ids, ['QUEUED', 'ISSUING'], change, at)
  }

  async setFailed(workspaceId: string, id: string, error: PassError, at: Date): Promise<void> {
    const change = { status: 'FAILED', error: JSON.stringify(error) }
    await this.transition(workspaceId, [id], ['QUEUED', 'ISSUING'], change, at)
  }

  async hasExpired(at: Date): Promise<boolean> {
    return (await this.expired(at).first('id')) !== undefined
  }

  /** Marks up to `limit` issued passes that are past their expiry, in whatever workspace, and returns how many. */
  async expire(at: Date, limit: number): Promise<number> {
    return this.db('passes')
      .whereIn('id', forUpdateSkipLocked(this.db, this.expired(at).limit(limit).select('id')))
      .where({ status: 'ISSUED' })
      .update({ ...this.counted({ status: 'EXPIRED' }, at), wallet_version: this.db.raw('wallet_version + 1') })
  }

  /** Detaches up to `limit` passes of a deleted project, and returns how many. */
  async detachFromProject(workspaceId: string, projectId: string, limit: number, at: Date): Promise<number> {
    const some = this.db('passes').where({ workspace_id: workspaceId, project_id: projectId }).limit(limit).select('id')
    return this.db('passes')
      .whereIn('id', some)
      .update(this.counted({ project_id: null }, at))
  }

  private expired(at: Date) {
    return this.db('passes').where({ status: 'ISSUED' }).where('expires_at', '<=', at.getTime())
  }

  private async transition(
    workspaceId: string,
    ids: string[],
    from: PassStatus[],
    change: object,
    at: Date,
  ): Promise<void> {
    if (ids.length === 0) return
    await this.db('passes')
      .where({ workspace_id: workspaceId })
      .whereIn('id', ids)
      .whereIn('status', from)
      .update(this.counted(change, at))
  }

  /** `version` counts every stored change, status included (spec 2.1). */
  private counted(change: object, at: Date) {
    return { ...change, version: this.db.raw('version + 1'), updated_at: at.getTime() }
  }

  private select(workspaceId: string) {
    return this.db('passes')
      .leftJoin('templates', 'templates.id', 'passes.template_id')
      .leftJoin('projects', 'projects.id', 'passes.project_id')
      .where('passes.workspace_id', workspaceId)
      .select(COLUMNS, {
        project_id: 'projects.id',
        project_name: 'projects.name',
        template_name: 'templates.name',
        latest_template_version: this.db.raw(
          'case when templates.deleted_at is null then templates.published_version end',
        ),
      })
  }
}

const COLUMNS = [
  ...['id', 'workspace_id', 'external_pass_id', 'label', 'status', 'version', 'revision', 'wallet_version'],
  ...['template_id', 'template_version_id', 'template_version', 'variables', 'redemption', 'expires_at'],
  ...['scan_code', 'apple_token', 'link_generation', 'created_at', 'updated_at'],
].map((column) => `passes.${column}`)

function toPass(row: Row): StoredPass {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    externalPassId: row.external_pass_id,
    label: row.label,
    status: row.status,
    version: row.version,
    revision: row.revision,
    walletVersion: row.wallet_version,
    templateId: row.template_id,
    templateVersionId: row.template_version_id,
    templateVersion: row.template_version,
    latestTemplateVersion: row.latest_template_version,
    projectId: row.project_id,
    projectName: row.project_name,
    templateName: row.template_name,
    variables: JSON.parse(row.variables),
    redemption: row.redemption === null ? null : JSON.parse(row.redemption),
    expiresAt: moment(row.expires_at),
    scanCode: row.scan_code,
    appleToken: row.apple_token,
    linkGeneration: row.link_generation,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}
