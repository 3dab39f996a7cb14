import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** Endpoints of customers, and what is on its way to them. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('webhooks', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('url').notNullable()
    // A list as JSON.
    table.text('events').notNullable()
    table.text('description').notNullable()
    table.text('status').notNullable()
    table.text('disabled_reason')
    // Encrypted with the server key.
    table.text('secret').notNullable()
    table.text('previous_secret')
    table.bigInteger('previous_secret_until')
    // Raised when it is disabled: deliveries of an older generation are never sent.
    table.integer('generation').notNullable()
    // The first failure since the last success.
    table.bigInteger('failing_since')
    // One sender at a time, here or on another server.
    table.uuid('sender')
    table.bigInteger('sender_until')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'id'])
  })

  // No foreign keys: what was sent stays readable when the endpoint is gone.
  await db.schema.createTable('webhook_deliveries', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('webhook_id').notNullable()
    table.uuid('event_id').notNullable()
    table.text('event_type').notNullable()
    table.integer('generation').notNullable()
    table.text('status').notNullable()
    table.bigInteger('due_at')
    // Attempts of the published table; manual ones do not count.
    table.integer('scheduled_attempts').notNullable()
    table.boolean('is_redelivery').notNullable()
    // Where the table goes on after a redelivery.
    table.bigInteger('resume_at')
    table.integer('attempt_count').notNullable()
    table.integer('last_response_code')
    table.text('last_error')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    // Ids ascend with the time of creation.
    table.index(['workspace_id', 'id'])
    for (const filter of ['webhook_id', 'status', 'event_type']) table.index(['workspace_id', filter, 'id'])
  })
  await db.raw(
    `create index webhook_deliveries_due on webhook_deliveries (webhook_id, generation, due_at) where status = 'PENDING'`,
  )

  await db.schema.createTable('webhook_attempts', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('delivery_id').notNullable()
    table.integer('number').notNullable()
    table.bigInteger('started_at').notNullable()
    table.integer('duration_ms').notNullable()
    table.integer('response_code')
    table.text('error')
    table.primary(['delivery_id', 'number'])
  })
  if (!isPostgres(db)) return
  // Rewritten with every attempt: room on the page keeps the indexes that stay the same out of it.
  await db.raw('alter table webhook_deliveries set (fillfactor = 80)')
}
