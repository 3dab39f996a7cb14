import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { messagedPlatforms, platforms } from '../../core/contract/schemas/platform.ts'
import { idBound } from '../../core/ids.ts'
import { foldCase } from '../../core/rules/lists/search.ts'
import type { Database } from '../db/database.ts'
import {
  boundColumn,
  deleteReturningIds,
  idIsChosen,
  rowLock,
  rowsOfPasses,
  whileSearchForgets,
} from '../db/dialect.ts'
import { countRows, Repository } from '../db/repository.ts'
import { eraseScans } from '../evidence/entries.ts'
import { withWalletVersionBump } from '../passes/pass-change.ts'
import { walletTables } from '../passes/wallet-tables.ts'
import { endedColumns } from '../webhooks/delivery-row.ts'
import { KEY } from './counters.ts'

/** The number of rows that can contain data of the holder of a pass, by kind. */
export interface Holdings {
  variables: number
  /** Images that the pass has or had. An erasure deletes the images that are not used elsewhere. */
  images: number
  notifications: number
  scans: number
  events: number
  pendingDeliveries: number
}

const ERASED_LABEL = 'Erased'

const ENDED = 'The data of the pass was erased.'

/** Removes the data of a holder from all stored rows. The rows on which counters and decisions depend remain. */
export class Erasure extends Repository {
  async count(workspaceId: string, passId: string): Promise<Holdings> {
    const events = await Promise.all(this.events(workspaceId, passId).map(countRows))
    const pending = await Promise.all(this.events(workspaceId, passId).map((some) => countRows(this.pendingOf(some))))
    return {
      variables: await countRows(rowsOfPasses(this.db, 'pass_variables', workspaceId, [passId])),
      images: await countRows(this.ofPass('pass_images', workspaceId, passId)),
      notifications: await countRows(this.ofPass('notifications', workspaceId, passId)),
      scans: await countRows(this.ofPass('scans', workspaceId, passId)),
      events: sum(events),
      pendingDeliveries: sum(pending),
    }
  }

  /**
   * Locks the notifications of the pass until the transaction ends. Call it before you lock the pass. Senders lock in
   * this order, so the reverse order could deadlock.
   */
  async lockNotifications(workspaceId: string, passId: string): Promise<void> {
    await this.ofPass('notifications', workspaceId, passId).orderBy('id').forUpdate().select('id')
  }

  /**
   * Erases the data of a pass. The caller must have locked the pass and its notifications, and must void the pass.
   * @param scanCodeDigest the digest of the random scan code, which is kept so that the code is still recognized as
   * void. Other codes are deleted, because they can derive from personal data
   */
  async erase(workspaceId: string, passId: string, scanCodeDigest: Uint8Array, at: Date): Promise<void> {
    const externalId = await this.chooseExternalId(workspaceId, passId)
    await whileSearchForgets(this.db, () => this.erasePass(workspaceId, passId, externalId, at))
    await rowsOfPasses(this.db, 'pass_variables', workspaceId, [passId]).delete()
    const identifiers = rowsOfPasses(this.db, 'pass_identifiers', workspaceId, [passId])
    await identifiers.whereNot({ digest: scanCodeDigest }).delete()
    for (const events of this.events(workspaceId, passId)) {
      // Delete the pending events first, to wait for concurrent fan-outs. Otherwise, the deliveries of these fan-outs
      // would not be visible below, and would remain.
      await this.db('pending_events').whereIn('id', events.clone().select('id')).delete()
      await this.endDeliveries(events, at)
      await events
        .clone()
        .clearSelect()
        .update({ data: this.db.raw(`'{"id":"' || cast(subject as text) || '"}'`) })
    }
    await eraseScans(this.db, () => this.ofPass('scans', workspaceId, passId))
    const notifications = this.ofPass('notifications', workspaceId, passId)
    await this.db('jobs')
      .whereNull('claim_token')
      .whereIn('subject', notifications.clone().select('id').unionAll(this.one(workspaceId, passId).select('id')))
      .update({ last_error: null })
    await notifications
      .clone()
      .whereNotNull('body')
      .update({ body: '', body_by_language: null, options: '{}', idempotency_key: null, updated_at: at.getTime() })
    const noErrors = Object.fromEntries(platforms.map((platform) => [`${platform}_error`, null]))
    await notifications.update(noErrors)
    // Delete the rejections, because their messages can quote the rejected values.
    await this.db('rejections').where({ workspace_id: workspaceId, subject: passId }).delete()
    for (const platform of messagedPlatforms) {
      await this.ofPass(walletTables[platform].table, workspaceId, passId).update({ last_error: null })
    }
    await this.ofPass('balance_entries', workspaceId, passId).whereNotNull('reason').update({ reason: null })
    await this.ofPass('device_logs', workspaceId, passId).delete()
    // Delete the failures of upgrades, because their messages can quote variables.
    await this.ofPass('template_upgrade_failures', workspaceId, passId).delete()
    await this.ofPass('join_identities', workspaceId, passId).delete()
  }

  /**
   * Deletes the gate counters that are zero because erasures removed the gate from all scans. Call it in a separate
   * transaction after the erasure.
   */
  async forgetGates(workspaceId: string): Promise<void> {
    const key = KEY.join(', ')
    const ofGates = `workspace_id = :workspaceId and counter = 'scans-by-gate' and "key" <> ''`
    const empty = `select ${key} from counts where ${ofGates} group by ${key} having sum(n) = 0`
    // On PostgreSQL, a count is the sum of several rows, its slots (decisions/0005). Lock them. Otherwise, another
    // transaction could add to a slot before it is deleted.
    const held = `select ${key}, n from counts where ${ofGates} and (${key}) in (${empty}) ${rowLock(this.db, 'for update')}`
    const sql = `with held as (${held}) delete from counts
      where ${ofGates} and (${key}) in (select ${key} from held group by ${key} having sum(n) = 0)`
    await this.db.raw(sql, { workspaceId })
  }

  /** Adds a random suffix if a client gave the name to another pass, so that no client can prevent an erasure. */
  private async chooseExternalId(workspaceId: string, passId: string): Promise<string> {
    const name = `erased-${passId}`
    const others = this.db('passes')
      .where({ workspace_id: workspaceId, external_pass_id: name })
      .whereNot({ id: passId })
    return (await others.first('id')) ? `${name}-${randomUUID()}` : name
  }

  private async erasePass(workspaceId: string, passId: string, externalId: string, at: Date): Promise<void> {
    const change = {
      label: ERASED_LABEL,
      label_folded: foldCase(ERASED_LABEL),
      variables: '{}',
      error: null,
      message_id: null,
      external_pass_id: externalId,
      external_folded: foldCase(externalId),
      erased_at: at.getTime(),
      link_generation: this.db.raw('link_generation + 1'),
      group_id: null,
      group_key: null,
      // Clear the scan code now. The imported serial number remains until phones had time to download the erased pass.
      scan_payload: null,
      import_digest: null,
      // Clear the source, which can contain personal data: it comes from the address of the page.
      join_source: null,
      consent_version: null,
      consented_at: null,
    }
    await this.one(workspaceId, passId).update(withWalletVersionBump(this.db, change, at))
  }

  /** Cancels pending deliveries. Raises `erasures`, so that a sender discards deliveries that it has already read. */
  private async endDeliveries(events: Knex.QueryBuilder, at: Date): Promise<void> {
    const webhookIds: string[] = await this.pendingOf(events).distinct('webhook_id').pluck('webhook_id')
    if (webhookIds.length === 0) return
    const webhooks = this.db('webhooks').whereIn('id', webhookIds).orderBy('id').select('id').forUpdate()
    await this.db('webhooks')
      .whereRaw(idIsChosen(this.db, webhooks))
      .update({ erasures: this.db.raw('erasures + 1') })
    await this.pendingOf(events).update(endedColumns(ENDED, at))
  }

  private one(workspaceId: string, passId: string) {
    return this.db('passes').where({ workspace_id: workspaceId, id: passId })
  }

  private ofPass(table: string, workspaceId: string, passId: string) {
    return this.db(table).where({ workspace_id: workspaceId, pass_id: passId })
  }

  /** Returns two queries, for the events of the pass and for the events of its scans. Each query can use an index. */
  private events(workspaceId: string, passId: string): Knex.QueryBuilder[] {
    const ofWorkspace = () => this.db('events').where({ workspace_id: workspaceId })
    const scans = this.ofPass('scans', workspaceId, passId).select('id')
    return [ofWorkspace().where({ subject: passId }), ofWorkspace().whereIn('subject', scans)]
  }

  private pendingOf(events: Knex.QueryBuilder) {
    const status = this.db.raw(boundColumn(this.db, 'status'))
    const deliveries = this.db('delivery_keys').whereIn('event_id', events.clone().select('id')).select('id')
    return this.db('webhook_deliveries').whereIn('id', deliveries).whereRaw('? = ?', [status, 'PENDING'])
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

export interface Deleted {
  rows: number
  /**
   * The ID of the last deleted row, after which the next statement continues; undefined if the rows are not deleted in
   * the order of their IDs.
   */
  last?: string | undefined
}

/** The tables whose rows are deleted by the times of their IDs. */
type IdTable = 'audit_entries' | 'device_logs' | 'scanner_snapshots'

/** The tables whose rows are deleted by the time in a column, with their primary keys. */
const TIMED_TABLES = {
  former_passes: { key: 'serial_number', time: 'ended_at' },
  door_invitations: { key: 'id', time: 'expires_at' },
  sessions: { key: 'id', time: 'expires_at' },
}

/**
 * Deletes rows by age, oldest first, a few per transaction. IDs ascend with the time, so old rows are a range of the
 * primary key. Each statement continues after the last row of the previous one. Otherwise, each statement would visit
 * all retained rows again and, on PostgreSQL, all rows that were deleted since the last vacuum. Rows that another
 * server has locked are skipped.
 */
export class Retention extends Repository {
  /**
   * Deletes completed deliveries that have not changed since `before`, with their attempts. Keeps pending deliveries
   * regardless of their age.
   */
  async deleteDeliveries(before: Date, limit: number, after?: string): Promise<Deleted> {
    const ids = await this.delete('webhook_deliveries', this.completed('webhook_deliveries', before, after), limit)
    if (ids.length > 0) await this.db('webhook_attempts').whereIn('delivery_id', ids).delete()
    return deletedOf(ids)
  }

  async deleteEvents(before: Date, limit: number, after?: string): Promise<Deleted> {
    const deliveries = this.db('delivery_keys').whereRaw('event_id = events.id').select(this.db.raw('1'))
    const old = this.older('events', before, after).whereNotExists(deliveries)
    return deletedOf(await this.delete('events', old, limit))
  }

  /** Deletes the rows whose ID is older than `before`. */
  async deleteByIds(table: IdTable, before: Date, limit: number, after?: string): Promise<Deleted> {
    return deletedOf(await this.delete(table, this.older(table, before, after), limit))
  }

  /** Deletes the rows whose time in the column is before `before`. */
  async deleteByTimes(table: keyof typeof TIMED_TABLES, before: Date, limit: number): Promise<Deleted> {
    const { key, time } = TIMED_TABLES[table]
    const old = this.db(table).where(time, '<', before.getTime()).orderBy(time).limit(limit).select(key)
    return { rows: await this.db(table).whereIn(key, old).delete() }
  }

  /**
   * Deletes the registrations of passes that were erased before a time. Returns the passes and workspaces of the
   * registrations. Choose `before` so that phones had time to download the erased passes.
   */
  async deleteErasedRegistrations(
    before: Date,
    limit: number,
  ): Promise<Deleted & { dropped: { workspaceId: string; passId: string }[] }> {
    const erased = this.db('apple_registrations')
      .join('passes', 'passes.id', 'apple_registrations.pass_id')
      .where('passes.erased_at', '<', before.getTime())
    const keys: { device_id: string; pass_id: string; workspace_id: string }[] = await erased
      .limit(limit)
      .select(['device_id', 'pass_id', 'workspace_id'].map((column) => `apple_registrations.${column}`))
    const pairs = keys.map(({ device_id: device, pass_id: pass }) => [device, pass])
    const dropped = keys.map(({ workspace_id: workspaceId, pass_id: passId }) => ({ workspaceId, passId }))
    if (pairs.length === 0) return { rows: 0, dropped }
    return { rows: await this.db('apple_registrations').whereIn(['device_id', 'pass_id'], pairs).delete(), dropped }
  }

  /** Clears the imported serial numbers (possibly personal data) of passes that were erased before a time. */
  async forgetSerialNumbers(before: Date, limit: number): Promise<Deleted> {
    const some = this.db('passes').where('erased_at', '<', before.getTime()).whereNotNull('imported_serial_number')
    const rows = await this.db('passes')
      .whereRaw(idIsChosen(this.db, some.limit(limit).select('id').forUpdate().skipLocked()))
      .update({ imported_serial_number: null })
    return { rows }
  }

  /** Deletes upgrades that ended before a time, with their failures. */
  async deleteUpgrades(before: Date, limit: number, after?: string): Promise<Deleted> {
    const old = this.completed('template_upgrades', before, after)
    return deletedOf(await this.delete('template_upgrades', old, limit))
  }

  private completed(table: string, before: Date, after?: string): Knex.QueryBuilder {
    return this.older(table, before, after).whereNot('status', 'PENDING').where('updated_at', '<', before.getTime())
  }

  private older(table: string, before: Date, after?: string): Knex.QueryBuilder {
    const old = this.db(table).where(`${table}.id`, '<', idBound(before.getTime()))
    return after === undefined ? old : old.where(`${table}.id`, '>', after)
  }

  private async delete(table: string, old: Knex.QueryBuilder, limit: number): Promise<string[]> {
    const chosen = old.orderBy(`${table}.id`).limit(limit).select(`${table}.id`).forUpdate().skipLocked()
    return deleteReturningIds(this.db, this.db(table).whereRaw(idIsChosen(this.db, chosen)))
  }
}

function deletedOf(ids: string[]): Deleted {
  return { rows: ids.length, last: ids.toSorted().at(-1) }
}

/** Makes the writer overwrite deleted data in a SQLite file with zeros. Otherwise, the data can remain in the file. */
export async function overwriteDeleted({ dialect, writer }: Database): Promise<void> {
  if (dialect === 'sqlite') await writer.raw('PRAGMA secure_delete = ON')
}

/** The number of pages of the search index that one transaction merges. Other writers run between transactions. */
const MERGED_PAGES = 500

/**
 * Merges all segments of SQLite's search index, a few pages per transaction. Until the merge, the index still contains
 * previous labels. Secure deletion on every change would remove these, but each change would take five times as long.
 */
export async function mergeSearchIndex({ dialect, writer }: Database): Promise<void> {
  if (dialect !== 'sqlite') return
  // In FTS5, a negative number of pages starts the merge of all segments, and a positive number continues it.
  for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
    const before = await totalChanges(writer)
    await writer.raw(`insert into pass_search (pass_search, rank) values ('merge', ?)`, [pages])
    // Stop if the statement itself, which counts as one change, was the only change.
    if ((await totalChanges(writer)) - before < 2) return
  }
}

async function totalChanges(writer: Database['writer']): Promise<number> {
  const [{ n }] = await writer.raw('select total_changes() as n')
  return n
}

/**
 * Writes all changes to the SQLite file, and empties the write-ahead log, which contains earlier versions of pages.
 * Returns false if the log was not emptied because other connections were reading. A later checkpoint then empties it.
 */
export async function flushDeleted({ dialect, writer }: Database): Promise<boolean> {
  if (dialect !== 'sqlite') return true
  const [{ busy }] = await writer.raw('PRAGMA wal_checkpoint(TRUNCATE)')
  return busy === 0
}
