import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/common.ts'
import { effectiveStatus } from '../../core/rules/pass/pass-status.ts'
import { insertRows } from '../db/bulk-rows.ts'
import {
  bindIds,
  boundColumn,
  forShare,
  forUpdate,
  forUpdateSkipLocked,
  idIsChosen,
  isAmong,
  toDate,
} from '../db/dialect.ts'
import type { ListPage } from '../db/list.ts'
import { named, runPrepared, sendSilently } from '../db/prepared.ts'
import { narrowProjects, type ProjectScope } from '../db/project-scope.ts'
import { activateIdentifier, insertIndex, isActiveIdentifier, replaceIndex } from './identifiers.ts'
import {
  endedSpan,
  ISSUED_SPAN,
  lockPasses,
  movedSpan,
  toHolderColumns,
  withVersionBump,
  withWalletVersionBump,
} from './pass-change.ts'
import { listPasses, type PassListRequest } from './pass-list.ts'
import {
  byExternalId,
  type NewPass,
  type PassContent,
  type PassError,
  type PassRow,
  type StoredPass,
  selectPass,
  toContentColumns,
  toNewRow,
  toPass,
  UNISSUED,
} from './pass-row.ts'

/** An update of what a pass shows: one new revision. */
export interface PassChange extends PassContent {
  status: PassStatus
  /** SHA-256 of what a scanner reads off the pass from now on. */
  identifierDigest: Uint8Array
  /** Where they become others. */
  scanCode?: string
  scanPayload?: string | null
  /** Where the pass goes to another holder. */
  newHolder?: Pick<StoredPass, 'copyId' | 'appleToken'>
}

/** The pass of a hosted link, and whether its workspace has closed its links. */
export interface LinkedPass {
  pass: StoredPass
  areLinksClosed: boolean
}

const IS_UNISSUED = `status in ('${UNISSUED.join(`', '`)}')`

/** That a pass is being issued is said by its job. */
const toStored = (status: PassStatus) => (status === 'ISSUING' ? 'QUEUED' : status)

/** Passes: made, found, changed and issued. */
export class Passes {
  private readonly db: Knex
  private readonly scope: ProjectScope

  constructor(db: Knex, scope?: ProjectScope) {
    this.db = db
    this.scope = scope
  }

  /** A pass by its id. */
  async find(workspaceId: string, id: string): Promise<StoredPass | undefined> {
    const [row] = await this.read('find-pass', { workspaceId, id }, () => this.selectNamed())
    return row && toPass(row)
  }

  /** As find, and nobody else changes the pass until the transaction ends. */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredPass | undefined> {
    const [row] = await this.read('find-pass-for-update', { workspaceId, id }, () =>
      forUpdate(this.db, this.selectNamed(), 'passes'),
    )
    return row && toPass(row)
  }

  /** As findForUpdate for several, taken in one order for everyone; those that are gone are left out. */
  async listForUpdate(workspaceId: string, ids: string[]): Promise<StoredPass[]> {
    if (ids.length === 0) return []
    const values = { workspaceId, ids: bindIds(this.db, ids) }
    const rows = await this.read('list-passes-for-update', values, () =>
      forUpdate(this.db, this.selectAmong().orderBy('passes.id'), 'passes'),
    )
    return rows.map(toPass)
  }

  /** What wallets are to show, and whose, which stays so until the transaction ends: any number of phones may register at once. */
  async lockShown(workspaceId: string, id: string): Promise<Pick<StoredPass, 'walletVersion' | 'copyId'> | undefined> {
    const row = await forShare(this.db, this.row(workspaceId, id).select('wallet_version', 'serial_number')).first()
    return row && { walletVersion: row.wallet_version, copyId: row.serial_number ?? id }
  }

  /** A pass as somebody opens its hosted link, and whether its workspace lets any be opened. */
  async findLinked(workspaceId: string, id: string): Promise<LinkedPass | undefined> {
    const [row] = await runPrepared<PassRow & { links_closed_at: number | null }>(
      this.db,
      'find-linked-pass',
      { workspaceId, id },
      () =>
        this.selectNamed()
          .join('workspaces', 'workspaces.id', 'passes.workspace_id')
          .select('workspaces.links_closed_at'),
    )
    return row && { pass: toPass(row), areLinksClosed: row.links_closed_at !== null }
  }

  /** Passes by their ids, in no order; unknown ones are left out. */
  async listByIds(workspaceId: string, ids: string[]): Promise<StoredPass[]> {
    if (ids.length === 0) return []
    const values = { workspaceId, ids: bindIds(this.db, ids) }
    const rows = await this.read('list-passes-by-id', values, () => this.selectAmong())
    return rows.map(toPass)
  }

  /** Passes by their external ids, in no order; unknown ones are left out. */
  async listByExternalIds(workspaceId: string, externalPassIds: string[]): Promise<StoredPass[]> {
    const values = { workspaceId, externalPassIds: bindIds(this.db, externalPassIds) }
    const rows = await this.read('list-passes-by-external-id', values, () => {
      const ofWorkspace = this.db('passes').where('passes.workspace_id', named(this.db, 'workspaceId'))
      const isOne = isAmong(this.db, 'passes.external_pass_id', 'externalPassIds', 'text')
      return selectPass(this.db, ofWorkspace.whereRaw(isOne))
    })
    return rows.map(toPass)
  }

  /** One page of the passes that the filters leave. */
  list(workspaceId: string, request: PassListRequest, at: Date): Promise<ListPage<StoredPass>> {
    return listPasses(
      this.db,
      workspaceId,
      { ...request, projectId: narrowProjects(this.scope, request.projectId) },
      at,
    )
  }

  /**
   * Inserts passes as QUEUED with their index rows, and returns the ids of those that are new: an externalPassId that
   * is taken, by a row of before or of a racing request, is passed over.
   */
  async insert(workspaceId: string, passes: NewPass[], at: Date): Promise<Set<string>> {
    if (passes.length === 0) return new Set()
    const rows = await insertRows<{ id: string }>(
      this.db,
      'passes',
      passes.toSorted(byExternalId).map((pass) => toNewRow(workspaceId, pass, pass.createdAt ?? at)),
      'on conflict (workspace_id, external_pass_id) do nothing returning id',
    )
    const inserted = new Set(rows.map((row) => row.id))
    const fresh = passes.filter((pass) => inserted.has(pass.id))
    await insertIndex(this.db, workspaceId, fresh)
    return inserted
  }

  /** Writes one new revision of a pass that the caller holds; wallets that have it will show it. */
  async update(workspaceId: string, id: string, change: PassChange, at: Date): Promise<void> {
    const { identifierDigest, status, scanCode, scanPayload, newHolder, ...content } = change
    const columns = {
      // What kept an older revision from being issued is history.
      ...withWalletVersionBump(this.db, { ...toContentColumns(content), status: toStored(status), error: null }, at),
      ...(scanCode !== undefined && { scan_code: scanCode }),
      ...(scanPayload !== undefined && { scan_payload: scanPayload }),
      ...(newHolder && toHolderColumns(this.db, newHolder)),
      revision: this.db.raw('revision + 1'),
      ...movedSpan(this.db, content.expiresAt, at),
    }
    const [updated, isActive] = await Promise.all([
      this.row(workspaceId, id).update(columns),
      isActiveIdentifier(this.db, workspaceId, id, identifierDigest),
    ])
    if (updated === 0) return
    await replaceIndex(this.db, workspaceId, { id, ...content })
    if (!isActive) await activateIdentifier(this.db, workspaceId, id, identifierDigest)
  }

  /** Voids passes, each with a wallet version of its own. */
  async setVoid(workspaceId: string, ids: string[], at: Date): Promise<void> {
    const change = withWalletVersionBump(
      this.db,
      { status: 'VOID', voided_at: at.getTime(), ...endedSpan(this.db, at) },
      at,
    )
    await sendSilently(
      this.db,
      this.db('passes').where({ workspace_id: workspaceId }).whereIn('id', ids).update(change),
    )
  }

  /** Kills every hosted link that was made so far. */
  async raiseLinkGeneration(workspaceId: string, id: string, at: Date): Promise<void> {
    await this.row(workspaceId, id).update(
      withVersionBump(this.db, { link_generation: this.db.raw('link_generation + 1') }, at),
    )
  }

  /** FAILED passes become QUEUED: something about them changed, or an operator asked. */
  async setQueuedAgain(workspaceId: string, ids: string[], at: Date): Promise<void> {
    await this.transition(workspaceId, ids, ['FAILED'], { status: 'QUEUED', error: null }, at)
  }

  /** Passes that failed since nothing could sign them, by id after one of them, held until the transaction ends. */
  async lockUnsigned(workspaceId: string, after: string | undefined, limit: number): Promise<string[]> {
    const failed = lockPasses(this.db, workspaceId).where({ status: 'FAILED' }).whereNull('erased_at')
    if (after !== undefined) failed.where('id', '>', after)
    const isUnsigned = ['APPLE_SIGNING_FAILED', 'GOOGLE_JWT_FAILED'].map((code) => `error like '{"code":"${code}"%'`)
    return failed
      .whereRaw(`(${isUnsigned.join(' or ')})`)
      .orderBy('id')
      .limit(limit)
      .pluck('id')
  }

  /** Revisions of the passes that are still to be issued, held until the transaction ends. */
  async lockUnissued(workspaceId: string, ids: string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const values = { workspaceId, ids: bindIds(this.db, ids) }
    const rows = await runPrepared<{ id: string; revision: number }>(this.db, 'lock-unissued', values, () => {
      const chosen = this.db('passes')
        .whereRaw(`${boundColumn(this.db, 'workspace_id')} = :workspaceId`)
        .whereRaw(isAmong(this.db, 'id', 'ids'))
        .whereRaw(IS_UNISSUED)
      return forUpdate(this.db, chosen.orderBy('id').select('id', 'revision'))
    })
    return new Map(rows.map((row) => [row.id, row.revision]))
  }

  /** The caller holds them, by `lockUnissued`. */
  async setIssued(workspaceId: string, ids: string[], at: Date): Promise<void> {
    if (ids.length === 0) return
    const values = { workspaceId, ids: bindIds(this.db, ids), at: at.getTime() }
    await runPrepared(this.db, 'set-issued', values, () => {
      const isOurs = `${boundColumn(this.db, 'workspace_id')} = :workspaceId and ${isAmong(this.db, 'id', 'ids')}`
      return `update passes set status = 'ISSUED', error = null, version = version + 1, updated_at = :at, ${ISSUED_SPAN}
        where ${isOurs} and ${IS_UNISSUED}`
    })
  }

  /** A pass that waits to be issued has failed, and says why; any other stays as it is. */
  async setFailed(workspaceId: string, id: string, error: PassError, at: Date): Promise<void> {
    await this.transition(workspaceId, [id], UNISSUED, { status: 'FAILED', error: JSON.stringify(error) }, at)
  }

  /** An issued pass fails where its only platform refuses it after all. */
  async setRefused(workspaceId: string, id: string, error: PassError, at: Date): Promise<void> {
    const change = { status: 'FAILED', error: JSON.stringify(error), ...endedSpan(this.db, at) }
    await this.transition(workspaceId, [id], ['ISSUED'], change, at)
  }

  /** Those of the passes that are issued, held until the transaction ends. */
  async lockIssued(workspaceId: string, ids: string[], at: Date): Promise<Set<string>> {
    const rows: Pick<PassRow, 'id' | 'status' | 'expires_at'>[] = await lockPasses(this.db, workspaceId)
      .whereIn('id', ids)
      .select('id', 'status', 'expires_at')
    const issued = rows.filter((row) => effectiveStatus({ ...row, expiresAt: toDate(row.expires_at) }, at) === 'ISSUED')
    return new Set(issued.map((row) => row.id))
  }

  /** Puts one of the notifications in the back field of each pass that it is for: phones will show it. */
  async setMessages(workspaceId: string, ids: string[], notificationIds: string[], at: Date): Promise<void> {
    if (ids.length === 0) return
    const ours = this.db('notifications').whereIn('id', notificationIds).whereRaw('pass_id = passes.id').select('id')
    const change = withWalletVersionBump(
      this.db,
      { message_id: ours, message_count: this.db.raw('message_count + 1') },
      at,
    )
    await this.db('passes').where({ workspace_id: workspaceId }).whereIn('id', ids).update(change)
  }

  /** True where a pass is past its expiry and is not marked so. */
  async hasExpired(at: Date): Promise<boolean> {
    return (await this.expired(at).first('id')) !== undefined
  }

  /** Marks up to `limit` issued passes that are past their expiry, in whatever workspace, and returns them. */
  async expire(at: Date, limit: number): Promise<{ workspaceId: string; id: string; projectId: string | null }[]> {
    const rows: Pick<PassRow, 'workspace_id' | 'id' | 'project_id'>[] = await this.db('passes')
      .whereRaw(idIsChosen(this.db, forUpdateSkipLocked(this.db, this.expired(at).limit(limit).select('id'))))
      .where({ status: 'ISSUED' })
      .update(withWalletVersionBump(this.db, { status: 'EXPIRED' }, at))
      .returning(['workspace_id', 'id', 'project_id'])
    return rows.map((row) => ({ workspaceId: row.workspace_id, id: row.id, projectId: row.project_id }))
  }

  /** Detaches up to `limit` passes of a deleted project, and returns how many. */
  async detachFromProject(workspaceId: string, projectId: string, limit: number, at: Date): Promise<number> {
    const some = lockPasses(this.db, workspaceId).where({ project_id: projectId }).limit(limit).select('id')
    return this.db('passes')
      .whereRaw(idIsChosen(this.db, some))
      .update(withVersionBump(this.db, { project_id: null }, at))
  }

  /** Runs a statement that is kept, on the passes within reach. */
  private read(name: string, values: Record<string, Knex.Value>, build: () => Knex.QueryBuilder): Promise<PassRow[]> {
    if (!this.scope) return runPrepared<PassRow>(this.db, name, values, build)
    const inScope = { ...values, projectIds: bindIds(this.db, [...this.scope]) }
    return runPrepared<PassRow>(this.db, `${name}-in-projects`, inScope, () =>
      build().whereRaw(isAmong(this.db, 'passes.project_id', 'projectIds')),
    )
  }

  private row(workspaceId: string, id: string) {
    return this.db('passes').where({ workspace_id: workspaceId, id })
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
    const some = lockPasses(this.db, workspaceId).whereIn('id', ids).whereIn('status', from).select('id')
    await this.db('passes')
      .whereRaw(idIsChosen(this.db, some))
      .update(withVersionBump(this.db, change, at))
  }

  /** Passes by values that are named workspaceId and ids. */
  private selectAmong() {
    const chosen = this.db('passes')
      .whereRaw(`${boundColumn(this.db, 'passes.workspace_id')} = :workspaceId`)
      .whereRaw(isAmong(this.db, 'passes.id', 'ids'))
    return selectPass(this.db, chosen)
  }

  /** One pass, by values that are named workspaceId and id. */
  private selectNamed() {
    const one = { 'passes.workspace_id': named(this.db, 'workspaceId'), 'passes.id': named(this.db, 'id') }
    return selectPass(this.db, this.db('passes').where(one))
  }
}
