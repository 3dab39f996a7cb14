import type { Knex } from 'knex'

/** Notifications, broadcasts, and what a pass has to remember for both. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('passes', (table) => {
    // When the pass stops being ISSUED, known or planned: at its expiry, or when it was voided. Null: not by itself.
    table.bigInteger('issued_until')
    // The last stretch in which it was expired before an update moved its expiry.
    table.bigInteger('lapsed_from')
    table.bigInteger('lapsed_until')
    // The notification in its back field, and how many have stood there.
    table.uuid('message_id')
    table.integer('message_count').notNullable().defaultTo(0)
  })
  await db.raw(`update passes set issued_until = coalesce(voided_at, expires_at)
    where issued_at is not null and (voided_at is not null or expires_at is not null)`)

  await db.schema.createTable('broadcasts', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    // No foreign key: it is history once the project is deleted.
    table.uuid('project_id').notNullable()
    table.text('body').notNullable()
    table.text('options').notNullable()
    table.text('platforms').notNullable()
    table.text('idempotency_key')
    table.bigInteger('send_at')
    // The moment whose issued passes are the targets; null before.
    table.bigInteger('started_at')
    // The last pass that the fan-out has dealt with.
    table.uuid('position')
    table.integer('fanned_out').notNullable()
    table.bigInteger('dispatched_at')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'project_id', 'id'])
  })

  // No foreign keys: a fan-out would look up and lock a million passes, which are never deleted.
  await db.schema.createTable('notifications', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable()
    // The broadcast that made it, which then holds body and options.
    table.uuid('broadcast_id')
    table.text('body')
    table.text('options')
    table.text('idempotency_key')
    table.bigInteger('send_at')
    // When it takes one of the three places that google has for 24 hours; null where it takes none.
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
  }
}
