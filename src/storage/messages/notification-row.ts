import type { Knex } from 'knex'
import type { DeliveryState, MessageOptions } from '../../core/contract/messages/notifications.ts'
import { byPlatform, CAPPED_PLATFORM, type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import type { WrittenText } from '../../core/rules/template/definition-languages.ts'
import { toDate } from '../db/dialect.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'

export interface PlatformState {
  status: DeliveryState
  error: string | null
}

const NOTIFICATION = mapping({
  id: field.text,
  passId: field.text,
  broadcastId: field.optionalText,
  options: field.json<MessageOptions>(),
  sendAt: field.optionalTime,
  startedAt: field.optionalTime,
  /** The number of Apple devices to which a push was sent. */
  deviceCount: field.number,
  createdAt: field.time,
  updatedAt: field.time,
})

/** A notification as it is stored. Its status depends on the time (see `notificationStatus`). */
export interface StoredNotification extends RecordOf<typeof NOTIFICATION>, Record<Platform, PlatformState> {
  /** Whether the notification is delivered by a message that its broadcast sends to a whole class. */
  isOfClass: boolean
  body: WrittenText
  /** The time at which the notification counts toward Google's cap; `null` if it does not count. */
  cappedAt: Date | null
}

export type StateColumns = Record<`${Platform}_status`, DeliveryState> & Record<`${Platform}_error`, string | null>

/** The column with the time at which a notification counts toward the cap of the capped platform. */
export const CAPPED_AT = `${CAPPED_PLATFORM}_due_at` as const

export function firstStates(targets: readonly Platform[]): Pick<StateColumns, `${Platform}_status`> {
  const columns = platforms.map((platform) => [
    `${platform}_status`,
    targets.includes(platform) ? 'PENDING' : 'SKIPPED',
  ])
  return Object.fromEntries(columns)
}

interface NotificationRow extends RowOf<typeof NOTIFICATION>, StateColumns {
  body: string
  body_by_language: string | null
  /** The unit in which the broadcast is sent to Google: `class` or `object`; null without a broadcast. */
  google_via: string | null
  [CAPPED_AT]: number | null
}

/**
 * Selects the columns of `NotificationRow`. For a notification of a broadcast, body and options come from the
 * broadcast.
 */
export function selectNotification(db: Knex, query: Knex.QueryBuilder): Knex.QueryBuilder {
  return query.leftJoin('broadcasts', 'broadcasts.id', 'notifications.broadcast_id').select('notifications.*', {
    body: db.raw('coalesce(notifications.body, broadcasts.body)'),
    body_by_language: db.raw('coalesce(notifications.body_by_language, broadcasts.body_by_language)'),
    google_via: 'broadcasts.google_via',
    options: db.raw('coalesce(notifications.options, broadcasts.options)'),
  })
}

export interface NewMessage {
  id: string
  body: WrittenText
  options: MessageOptions
  platforms: Platform[]
  /** The scheduled time; null for a message that is sent immediately. */
  sendAt: Date | null
  idempotencyKey: string | null
}

/**
 * Inserts a message with the additional columns of its kind. Returns false if its idempotency key is in use, including
 * by a concurrent request, which the unique index detects.
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

function bodyColumns(body: WrittenText): Pick<NotificationRow, 'body' | 'body_by_language'> {
  if (typeof body === 'string') return { body, body_by_language: null }
  const [first = ''] = Object.values(body)
  return { body: first, body_by_language: JSON.stringify(body) }
}

export function toBody({ body, body_by_language }: Pick<NotificationRow, 'body' | 'body_by_language'>): WrittenText {
  return body_by_language === null ? body : JSON.parse(body_by_language)
}

export function toNotification(row: NotificationRow): StoredNotification {
  return {
    ...NOTIFICATION.read(row),
    isOfClass: row.google_via === 'class',
    body: toBody(row),
    cappedAt: toDate(row[CAPPED_AT]),
    ...byPlatform((platform) => ({ status: row[`${platform}_status`], error: row[`${platform}_error`] })),
  }
}
