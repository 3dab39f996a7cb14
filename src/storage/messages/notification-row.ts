import type { Knex } from 'knex'
import type { DeliveryState, MessageOptions } from '../../core/contract/notifications.ts'
import type { Platform } from '../../core/contract/platform.ts'
import type { WrittenText } from '../../core/rules/template/languages.ts'
import { toDate } from '../db/dialect.ts'

/** A notification as it is stored. What it says at which moment is for `notificationStatus` to tell. */
export interface StoredNotification {
  id: string
  passId: string
  broadcastId: string | null
  /** True where Google is sent the message of its broadcast once for all passes of a class. */
  isOfClass: boolean
  body: WrittenText
  options: MessageOptions
  sendAt: Date | null
  /** When it takes a place under the google cap; null where it takes none. */
  googleDueAt: Date | null
  startedAt: Date | null
  apple: { status: DeliveryState; error: string | null; deviceCount: number }
  google: { status: DeliveryState; error: string | null }
  createdAt: Date
  updatedAt: Date
}

/** A row of `notifications`. */
export interface NotificationRow {
  id: string
  pass_id: string
  broadcast_id: string | null
  body: string
  body_by_language: string | null
  /** Of the broadcast. */
  google_via: string | null
  options: string
  send_at: number | null
  google_due_at: number | null
  started_at: number | null
  apple_status: DeliveryState
  apple_error: string | null
  device_count: number
  google_status: DeliveryState
  google_error: string | null
  created_at: number
  updated_at: number
}

/** Selects the columns of `NotificationRow`: of one that a broadcast made, body and options stand there. */
export function selectNotification(db: Knex, query: Knex.QueryBuilder): Knex.QueryBuilder {
  return query.leftJoin('broadcasts', 'broadcasts.id', 'notifications.broadcast_id').select('notifications.*', {
    body: db.raw('coalesce(notifications.body, broadcasts.body)'),
    body_by_language: db.raw('coalesce(notifications.body_by_language, broadcasts.body_by_language)'),
    google_via: 'broadcasts.google_via',
    options: db.raw('coalesce(notifications.options, broadcasts.options)'),
  })
}

/** What a notification and a broadcast are both made of. */
export interface NewMessage {
  id: string
  body: WrittenText
  options: MessageOptions
  platforms: Platform[]
  /** Null for one that is sent at once. */
  sendAt: Date | null
  idempotencyKey: string | null
}

/**
 * Inserts a message, with the columns that only its kind has. False when its idempotency key is taken, by a row of before or of a
 * racing request: the unique index of the table decides.
 */
export async function insertMessage(
  db: Knex,
  workspaceId: string,
  { id, body, options, sendAt, idempotencyKey }: NewMessage,
  { table, columns, at }: { table: 'notifications' | 'broadcasts'; columns: object; at: Date },
): Promise<boolean> {
  const inserted = await db(table)
    .insert({
      id,
      workspace_id: workspaceId,
      ...bodyColumns(body),
      options: JSON.stringify(options),
      idempotency_key: idempotencyKey,
      send_at: sendAt?.getTime() ?? null,
      created_at: at.getTime(),
      updated_at: at.getTime(),
      ...columns,
    })
    .onConflict(db.raw('(workspace_id, idempotency_key) where idempotency_key is not null') as never)
    .ignore()
    .returning('id')
  return inserted.length > 0
}

/** The columns that hold what a message says. */
function bodyColumns(body: WrittenText): Pick<NotificationRow, 'body' | 'body_by_language'> {
  if (typeof body === 'string') return { body, body_by_language: null }
  const [first = ''] = Object.values(body)
  return { body: first, body_by_language: JSON.stringify(body) }
}

/** What a message says, of its columns. */
export function toBody({ body, body_by_language }: Pick<NotificationRow, 'body' | 'body_by_language'>): WrittenText {
  return body_by_language === null ? body : JSON.parse(body_by_language)
}

/** A row as it is used. */
export function toNotification(row: NotificationRow): StoredNotification {
  return {
    id: row.id,
    passId: row.pass_id,
    broadcastId: row.broadcast_id,
    isOfClass: row.google_via === 'class',
    body: toBody(row),
    options: JSON.parse(row.options),
    sendAt: toDate(row.send_at),
    googleDueAt: toDate(row.google_due_at),
    startedAt: toDate(row.started_at),
    apple: { status: row.apple_status, error: row.apple_error, deviceCount: row.device_count },
    google: { status: row.google_status, error: row.google_error },
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}
