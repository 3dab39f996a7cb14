import type { Knex } from 'knex'

export async function createMessages(db: Knex): Promise<void> {
  await db.schema.createTable('broadcasts', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    // No foreign key, because the broadcast remains after its project is deleted.
    table.uuid('project_id').notNullable()
    // The text of the message. If the text differs by language, `body` has the first text, and `body_by_language` has
    // all texts as JSON.
    table.text('body').notNullable()
    table.text('body_by_language')
    table.text('options').notNullable()
    table.text('platforms').notNullable()
    table.text('google_via')
    // The filter of the targets as JSON; null for all issued passes.
    table.text('filter')
    table.text('idempotency_key')
    table.bigInteger('send_at')
    // The start of the fan-out. The targets are the passes that were issued at this time.
    table.bigInteger('started_at')
    // The ID of the last pass that the fan-out has processed.
    table.uuid('position')
    table.integer('fanned_out').notNullable()
    table.bigInteger('dispatched_at')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'project_id', 'id'])
  })
  // The result of a message to a whole Google class.
  await db.schema.createTable('broadcast_classes', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('broadcast_id').notNullable()
    // The identity of the class; empty for the identity of the server.
    table.text('identity').notNullable()
    table.text('class_suffix').notNullable()
    table.text('status').notNullable()
    table.text('error')
    // The time until which no other job sends the message.
    table.bigInteger('sending_until').notNullable()
    table.primary(['broadcast_id', 'identity', 'class_suffix'])
    table.index(['workspace_id', 'class_suffix'])
  })

  // No foreign keys. With them, a fan-out to a million passes would look up and lock each pass. They are not needed,
  // because passes are never deleted.
  await db.schema.createTable('notifications', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable()
    // The broadcast that created the notification, if any. The broadcast then stores the body and the options.
    table.uuid('broadcast_id')
    table.text('body')
    table.text('body_by_language')
    table.text('options')
    table.text('idempotency_key')
    table.bigInteger('send_at')
    // The time at which the notification counts toward Google's cap of three in 24 hours; null if it does not count.
    table.bigInteger('google_due_at')
    table.bigInteger('started_at')
    table.text('apple_status').notNullable()
    table.text('apple_error')
    table.integer('device_count').notNullable()
    table.text('google_status').notNullable()
    table.text('google_error')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['pass_id', 'id'])
  })
  await db.raw(`create unique index notifications_of_broadcast on notifications (broadcast_id, pass_id)
    where broadcast_id is not null`)
  await db.raw(`create index notifications_capped on notifications (pass_id, google_due_at)
    where google_due_at is not null`)
  for (const table of ['notifications', 'broadcasts']) {
    await db.raw(`create unique index ${table}_by_key on ${table} (workspace_id, idempotency_key)
      where idempotency_key is not null`)
    await db.raw(`create index ${table}_scheduled on ${table} (workspace_id, send_at)
      where send_at is not null and started_at is null`)
  }
}
