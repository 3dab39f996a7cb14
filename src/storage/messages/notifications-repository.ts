import type { Knex } from 'knex'
import { platforms as allPlatforms, CAPPED_PLATFORM } from '../../core/contract/schemas/platform.ts'
import { groupBy } from '../../core/group-by.ts'
import { CAP_WINDOW_MS } from '../../core/rules/sending/notification.ts'
import type { WrittenText } from '../../core/rules/template/definition-languages.ts'
import { deleteReturningIds, NEVER } from '../db/dialect.ts'
import { byId, type ListPage, listPage, NEWEST_FIRST, type PageRequest } from '../db/list-query.ts'
import { field, findRecord, listRecords, mapping, type RecordOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import {
  CAPPED_AT,
  firstStates,
  insertMessage,
  type NewMessage,
  type StateColumns,
  type StoredNotification,
  selectNotification,
  toNotification,
} from './notification-row.ts'

/** The columns that delivery writes. Omitted columns keep their values. */
export interface NotificationChange extends Partial<StateColumns> {
  started_at?: number
  [CAPPED_AT]?: null
  device_count?: number
}

/**
 * The maximum number of notifications that `listPlaces` reads per pass. At the cap of 3 notifications per day, this
 * covers most of a year.
 */
const MAX_PLACES = 1_000

const PLACE = mapping({
  id: field.text,
  passId: field.text,
  dueAt: field.inColumn(CAPPED_AT, field.time),
  isCertain: field.flag,
  /** Whether nothing was sent, because no user had the pass on the capped platform. */
  isSkipped: field.flag,
})

/** A notification that counts toward the cap of its pass, which is 3 in any 24 hours. */
export interface Place extends RecordOf<typeof PLACE> {}

export class Notifications extends Repository {
  /** Inserts a notification. Returns false if the idempotency key is in use, including by a concurrent request. */
  async insert(workspaceId: string, notification: NewMessage & { passId: string }, at: Date): Promise<boolean> {
    const { passId, platforms, sendAt } = notification
    const columns = {
      pass_id: passId,
      [CAPPED_AT]: platforms.includes(CAPPED_PLATFORM) ? (sendAt ?? at).getTime() : null,
      device_count: 0,
      ...firstStates(platforms),
    }
    return insertMessage(this.db, workspaceId, notification, { table: 'notifications', columns, at })
  }

  async find(workspaceId: string, passId: string, id: string): Promise<StoredNotification | undefined> {
    return this.first(workspaceId, { 'notifications.pass_id': passId, 'notifications.id': id })
  }

  async findByKey(workspaceId: string, idempotencyKey: string): Promise<StoredNotification | undefined> {
    return this.first(workspaceId, { 'notifications.idempotency_key': idempotencyKey })
  }

  async findBody(workspaceId: string, id: string): Promise<WrittenText | undefined> {
    return (await this.first(workspaceId, { 'notifications.id': id }))?.body
  }

  /** Returns a page of a pass's notifications, newest first. */
  async list(workspaceId: string, passId: string, request: PageRequest): Promise<ListPage<StoredNotification>> {
    const filtered = this.ofPasses(workspaceId, [passId])
    const sorted = { ...request, ...NEWEST_FIRST, passId }
    const select = (query: Knex.QueryBuilder) => selectNotification(this.db, query)
    return listPage(this.db, filtered, byId('notifications'), sorted, toNotification, select)
  }

  async deleteScheduled(workspaceId: string, passId: string, id: string, at: Date): Promise<boolean> {
    const scheduled = this.ofPasses(workspaceId, [passId])
      .where({ id, started_at: null })
      .where('send_at', '>', at.getTime())
    return (await deleteReturningIds(this.db, scheduled)).length > 0
  }

  /** Returns the existing notifications, oldest first, and locks them until the transaction ends. */
  async lock(workspaceId: string, ids: string[]): Promise<StoredNotification[]> {
    const query = this.db('notifications')
      .where('notifications.workspace_id', workspaceId)
      .whereIn('notifications.id', ids)
      .orderBy('notifications.id')
    return listRecords(selectNotification(this.db, query).forUpdate('notifications'), toNotification)
  }

  async listByIds(workspaceId: string, ids: string[]): Promise<StoredNotification[]> {
    const query = this.db('notifications').where('notifications.workspace_id', workspaceId)
    return listRecords(selectNotification(this.db, query.whereIn('notifications.id', ids)), toNotification)
  }

  /**
   * Returns the notifications that are due from a day before `first` until a day after `last`, and count toward the cap
   * of their passes. A notification of a broadcast is certain to count (`isCertain`) only if its own delivery began.
   */
  async listPlaces(workspaceId: string, passIds: string[], first: Date, last?: Date): Promise<Place[]> {
    const places = this.ofPasses(workspaceId, passIds)
      .where(CAPPED_AT, '>', first.getTime() - CAP_WINDOW_MS)
      .where(CAPPED_AT, '<', last ? last.getTime() + CAP_WINDOW_MS : NEVER)
      .orderBy(['pass_id', CAPPED_AT])
      .limit(MAX_PLACES * passIds.length)
      .select('id', 'pass_id', CAPPED_AT, {
        is_certain: this.db.raw('started_at is not null or broadcast_id is null'),
        is_skipped: this.db.raw(`${CAPPED_PLATFORM}_status = 'SKIPPED'`),
      })
    return listRecords(places, PLACE.read)
  }

  /** Writes the outcome of each notification, with one statement per distinct change. */
  async update(workspaceId: string, changes: Map<string, NotificationChange>, at: Date): Promise<void> {
    for (const [change, alike] of groupBy(changes, ([, one]) => JSON.stringify(one))) {
      const ids = alike.map(([id]) => id)
      await this.db('notifications')
        .where({ workspace_id: workspaceId })
        .whereIn('id', ids)
        .update({ ...JSON.parse(change), updated_at: at.getTime() })
    }
    for (const change of changes.values()) this.emitEnd(change)
  }

  private emitEnd(change: NotificationChange): void {
    for (const platform of allPlatforms) {
      const status = change[`${platform}_status`]
      if (status && status !== 'PENDING') this.emit({ what: 'notification', platform, status })
    }
  }

  private async first(workspaceId: string, where: object): Promise<StoredNotification | undefined> {
    return findRecord(selectNotification(this.db, this.ofWorkspace(workspaceId).where(where)), toNotification)
  }

  private ofPasses(workspaceId: string, passIds: string[]) {
    const query = this.ofWorkspace(workspaceId)
    return passIds.length === 1 ? query.where('notifications.pass_id', passIds[0]) : query.whereIn('pass_id', passIds)
  }

  private ofWorkspace(workspaceId: string) {
    const query = this.db('notifications').where('notifications.workspace_id', workspaceId)
    if (!this.scope) return query
    const pass = this.db('passes').whereRaw('passes.id = notifications.pass_id').whereIn('project_id', this.scope)
    return query.whereExists(pass.select(this.db.raw('1')))
  }
}
