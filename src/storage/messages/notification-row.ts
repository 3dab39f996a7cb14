import type { Knex } from 'knex'
import type { DeliveryState, MessageOptions } from '../../core/contract/notifications.ts'
import { toDate } from '../db/dialect.ts'

/** A notification as it is stored. What it says at which moment is for `notificationStatus` to tell. */
export interface StoredNotification {
  id: string
  passId: string
  broadcastId: string | null
  body: string
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
    options: db.raw('coalesce(notifications.options, broadcasts.options)'),
  })
}

/** A row as it is used. */
export function toNotification(row: NotificationRow): StoredNotification {
  return {
    id: row.id,
    passId: row.pass_id,
    broadcastId: row.broadcast_id,
    body: row.body,
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
