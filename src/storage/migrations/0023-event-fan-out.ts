import type { Knex } from 'knex'

/**
 * Events that the worker still has to turn into deliveries, and more than one secret that was rotated out. An event carries
 * the number of changes that the workspace's subscriptions had seen when it happened (its epoch), and a subscription the
 * number that it began with: which of them an event is for is then a matter of counting, never of clocks.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('pending_events', (table) => {
    // Of the event.
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.integer('epoch').notNullable()
    table.index(['workspace_id', 'id'])
  })
  await db.schema.alterTable('workspaces', (table) => {
    table.integer('webhook_epoch').notNullable().defaultTo(0)
  })
  await db.schema.alterTable('webhooks', (table) => {
    // An object of event type to epoch, as JSON.
    table.text('subscribed_at').notNullable().defaultTo('{}')
    // A list of {secret, until}, newest first, as JSON.
    table.text('retired_secrets').notNullable().defaultTo('[]')
    // Raised when something that waits for it is erased: a sender throws away what it has read.
    table.integer('erasures').notNullable().defaultTo(0)
  })
  // previous_secret stays for servers of the version before, which may still run; nothing else reads it.
  const rotated: { id: string; previous_secret: string; previous_secret_until: number }[] = await db('webhooks')
    .whereNotNull('previous_secret')
    .whereNotNull('previous_secret_until')
    .select('id', 'previous_secret', 'previous_secret_until')
  for (const { id, previous_secret: secret, previous_secret_until: until } of rotated) {
    await db('webhooks')
      .where({ id })
      .update({ retired_secrets: JSON.stringify([{ secret, until: Number(until) }]) })
  }
}
