import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import { platformFacts, platforms } from '../../core/contract/schemas/platform.ts'
import type { BalanceSums } from '../../core/rules/balances/balances.ts'
import { effectiveStatus } from '../../core/rules/pass/pass-status.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { bindIds, boundColumn, idIsChosen, isAmong, toDate } from '../db/dialect.ts'
import type { ListPage } from '../db/list-query.ts'
import { named, runPrepared, sendSilently } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import { activateIdentifiers, insertIndex, listInactive, replaceIndex } from './identifiers.ts'
import { listPasses, type PassListRequest } from './list/pass-list.ts'
import {
  endedSpan,
  ISSUED_SPAN,
  lockPasses,
  movedSpan,
  toHolderColumns,
  withVersionBump,
  withWalletVersionBump,
  writeBalanceSums,
} from './pass-change.ts'
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
  toStoredStatus,
  UNISSUED,
} from './pass-row.ts'

/** An update of the visible content, which creates a new revision. */
export interface PassChange extends PassContent {
  status: PassStatus
  /** The SHA-256 digest of the new scannable code. */
  identifierDigest: Uint8Array
  /** The new code, and the new payload of an imported pass; omitted if unchanged. */
  scanCode?: string
  scanPayload?: string | null
  newHolder?: Pick<StoredPass, 'copyId' | 'appleToken'>
}

/** The pass of a hosted link, and whether the links of its workspace are closed. */
export interface LinkedPass {
  pass: StoredPass
  areLinksClosed: boolean
}

const IS_UNISSUED = `status in ('${UNISSUED.join(`', '`)}')`

export class Passes extends Repository {
  async find(workspaceId: string, id: string): Promise<StoredPass | undefined> {
    const [row] = await this.read('find-pass', { workspaceId, id }, () => this.selectNamed())
    return row && toPass(row)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredPass | undefined> {
    const [row] = await this.read('find-pass-for-update', { workspaceId, id }, () =>
      this.selectNamed().forUpdate('passes'),
    )
    return row && toPass(row)
  }

  /** Like `findForUpdate`, for several passes, in a consistent order. Omits missing passes. */
  async listForUpdate(workspaceId: string, ids: string[]): Promise<StoredPass[]> {
    if (ids.length === 0) return []
    const values = { workspaceId, ids: bindIds(this.db, ids) }
    const rows = await this.read('list-passes-for-update', values, () =>
      this.selectAmong().orderBy('passes.id').forUpdate('passes'),
    )
    return rows.map(toPass)
  }

  /**
   * Returns the wallet version and the copy ID of a pass, and prevents changes to them until the transaction ends. The
   * lock is shared, so that any number of phones can register concurrently.
   */
  async lockShown(workspaceId: string, id: string): Promise<Pick<StoredPass, 'walletVersion' | 'copyId'> | undefined> {
    const row = await this.row(workspaceId, id).select('wallet_version', 'serial_number').forShare().first()
    return row && { walletVersion: row.wallet_version, copyId: row.serial_number ?? id }
  }

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

  /** Returns passes by ID, in any order. Omits unknown IDs. */
  async listByIds(workspaceId: string, ids: string[]): Promise<StoredPass[]> {
    if (ids.length === 0) return []
    const values = { workspaceId, ids: bindIds(this.db, ids) }
    const rows = await this.read('list-passes-by-id', values, () => this.selectAmong())
    return rows.map(toPass)
  }

  /** Returns passes by external ID, in any order. Omits unknown IDs. */
  async listByExternalIds(workspaceId: string, externalPassIds: string[]): Promise<StoredPass[]> {
    const values = { workspaceId, externalPassIds: bindIds(this.db, externalPassIds) }
    const rows = await this.read('list-passes-by-external-id', values, () => {
      const ofWorkspace = this.db('passes').where('passes.workspace_id', named(this.db, 'workspaceId'))
      const isOne = isAmong(this.db, 'passes.external_pass_id', 'externalPassIds', 'text')
      return selectPass(this.db, ofWorkspace.whereRaw(isOne))
    })
    return rows.map(toPass)
  }

  list(workspaceId: string, request: PassListRequest, at: Date): Promise<ListPage<StoredPass>> {
    return listPasses(this.db, workspaceId, { ...request, projectId: this.narrow(request.projectId) }, at)
  }

  /**
   * Inserts QUEUED passes with their index rows and returns the IDs of the inserted passes. Skips passes whose
   * externalPassId is in use, including by a concurrent request.
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

  /** Writes a new revision of a pass that the caller has locked, and raises its wallet version. */
  async update(workspaceId: string, id: string, change: PassChange, at: Date): Promise<void> {
    const { identifierDigest, status, scanCode, scanPayload, newHolder, ...content } = change
    const columns = {
      // Clear the error, because it describes an earlier revision.
      ...withWalletVersionBump(
        this.db,
        { ...toContentColumns(content), status: toStoredStatus(status), error: null },
        at,
      ),
      ...(scanCode !== undefined && { scan_code: scanCode }),
      ...(scanPayload !== undefined && { scan_payload: scanPayload }),
      ...(newHolder && toHolderColumns(this.db, newHolder)),
      revision: this.db.raw('revision + 1'),
      ...movedSpan(this.db, content.expiresAt, at),
    }
    const [updated, inactive] = await Promise.all([
      this.row(workspaceId, id).update(columns),
      listInactive(this.db, workspaceId, [{ passId: id, digest: identifierDigest }]),
    ])
    if (updated === 0) return
    await replaceIndex(this.db, workspaceId, [{ id, ...content }])
    await activateIdentifiers(this.db, workspaceId, inactive)
  }

  /** Writes the sums of the balances of passes that the caller has locked. */
  async setBalanceSums(workspaceId: string, changes: { passId: string; sums: BalanceSums }[], at: Date): Promise<void> {
    if (changes.length > 0) await writeBalanceSums(this.db, workspaceId, changes, at)
  }

  /** Voids passes and raises the wallet version of each. */
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

  /** Invalidates all existing hosted links to the pass. */
  async raiseLinkGeneration(workspaceId: string, id: string, at: Date): Promise<void> {
    await this.row(workspaceId, id).update(
      withVersionBump(this.db, { link_generation: this.db.raw('link_generation + 1') }, at),
    )
  }

  /** Sets FAILED passes back to QUEUED, after a change or at the request of an operator. */
  async setQueuedAgain(workspaceId: string, ids: string[], at: Date): Promise<void> {
    await this.transition(workspaceId, ids, ['FAILED'], { status: 'QUEUED', error: null }, at)
  }

  /**
   * Locks the passes that failed because they could not be signed, until the transaction ends. Returns their IDs,
   * sorted.
   */
  async lockUnsigned(workspaceId: string, after: string | undefined, limit: number): Promise<string[]> {
    const failed = lockPasses(this.db, workspaceId).where({ status: 'FAILED' }).whereNull('erased_at')
    if (after !== undefined) failed.where('id', '>', after)
    const isUnsigned = platforms.map((one) => `error like '{"code":"${platformFacts[one].signingError}"%'`)
    return failed
      .whereRaw(`(${isUnsigned.join(' or ')})`)
      .orderBy('id')
      .limit(limit)
      .pluck('id')
  }

  /** Returns the revisions of the passes that are not issued yet, and locks the passes until the transaction ends. */
  async lockUnissued(workspaceId: string, ids: string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const values = { workspaceId, ids: bindIds(this.db, ids) }
    const rows = await runPrepared<{ id: string; revision: number }>(this.db, 'lock-unissued', values, () => {
      const chosen = this.db('passes')
        .whereRaw(`${boundColumn(this.db, 'workspace_id')} = :workspaceId`)
        .whereRaw(isAmong(this.db, 'id', 'ids'))
        .whereRaw(IS_UNISSUED)
      return chosen.orderBy('id').select('id', 'revision').forUpdate()
    })
    return new Map(rows.map((row) => [row.id, row.revision]))
  }

  /** Marks passes as issued. The caller has locked them with `lockUnissued`. */
  async setIssued(workspaceId: string, ids: string[], at: Date): Promise<void> {
    if (ids.length === 0) return
    const values = { workspaceId, ids: bindIds(this.db, ids), at: at.getTime() }
    await runPrepared(this.db, 'set-issued', values, () => {
      const isOurs = `${boundColumn(this.db, 'workspace_id')} = :workspaceId and ${isAmong(this.db, 'id', 'ids')}`
      return `update passes set status = 'ISSUED', error = null, version = version + 1, updated_at = :at, ${ISSUED_SPAN}
        where ${isOurs} and ${IS_UNISSUED}`
    })
  }

  /** Marks an unissued pass as failed. Does not change other passes. */
  async setFailed(workspaceId: string, id: string, error: PassError, at: Date): Promise<void> {
    await this.transition(workspaceId, [id], UNISSUED, { status: 'FAILED', error: JSON.stringify(error) }, at)
  }

  /** Marks an issued pass as failed, because its only platform rejected it. */
  async setRejected(workspaceId: string, id: string, error: PassError, at: Date): Promise<void> {
    const change = { status: 'FAILED', error: JSON.stringify(error), ...endedSpan(this.db, at) }
    await this.transition(workspaceId, [id], ['ISSUED'], change, at)
  }

  /** Returns the IDs of the passes that are issued, and locks them until the transaction ends. */
  async lockIssued(workspaceId: string, ids: string[], at: Date): Promise<Set<string>> {
    const rows: Pick<PassRow, 'id' | 'status' | 'expires_at'>[] = await lockPasses(this.db, workspaceId)
      .whereIn('id', ids)
      .select('id', 'status', 'expires_at')
    const issued = rows.filter((row) => effectiveStatus({ ...row, expiresAt: toDate(row.expires_at) }, at) === 'ISSUED')
    return new Set(issued.map((row) => row.id))
  }

  /** Puts notifications into the back field of their passes, so that phones show them. */
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

  /** Stores the time at which a wallet first held passes of join pages. Keeps an existing time. */
  async setJoinInstalled(workspaceId: string, ids: string[], at: Date): Promise<void> {
    await this.db('passes')
      .where({ workspace_id: workspaceId, join_installed_at: null })
      .whereIn('id', ids)
      .update({ join_installed_at: at.getTime() })
  }

  /** Whether any pass has expired, but is not marked as EXPIRED yet. */
  async hasExpired(at: Date): Promise<boolean> {
    return (await this.expired(at).first('id')) !== undefined
  }

  /** Marks up to `limit` issued passes past their expiry as EXPIRED, in all workspaces, and returns them. */
  async expire(at: Date, limit: number): Promise<{ workspaceId: string; id: string; projectId: string | null }[]> {
    const rows: Pick<PassRow, 'workspace_id' | 'id' | 'project_id'>[] = await this.db('passes')
      .whereRaw(idIsChosen(this.db, this.expired(at).limit(limit).select('id').forUpdate().skipLocked()))
      .where({ status: 'ISSUED' })
      .update(withWalletVersionBump(this.db, { status: 'EXPIRED' }, at))
      .returning(['workspace_id', 'id', 'project_id'])
    return rows.map((row) => ({ workspaceId: row.workspace_id, id: row.id, projectId: row.project_id }))
  }

  async detachFromProject(workspaceId: string, projectId: string, limit: number, at: Date): Promise<number> {
    const some = lockPasses(this.db, workspaceId).where({ project_id: projectId }).limit(limit).select('id')
    return this.db('passes')
      .whereRaw(idIsChosen(this.db, some))
      .update(withVersionBump(this.db, { project_id: null }, at))
  }

  /** Runs a prepared statement, limited to the projects that the caller can access. */
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

  /** Returns a query for passes by the parameters `workspaceId` and `ids`. */
  private selectAmong() {
    const chosen = this.db('passes')
      .whereRaw(`${boundColumn(this.db, 'passes.workspace_id')} = :workspaceId`)
      .whereRaw(isAmong(this.db, 'passes.id', 'ids'))
    return selectPass(this.db, chosen)
  }

  /** Returns a query for a pass by the parameters `workspaceId` and `id`. */
  private selectNamed() {
    const one = { 'passes.workspace_id': named(this.db, 'workspaceId'), 'passes.id': named(this.db, 'id') }
    return selectPass(this.db, this.db('passes').where(one))
  }
}
