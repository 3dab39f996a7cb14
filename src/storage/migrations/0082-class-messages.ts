import type { Knex } from 'knex'

/** Broadcasts that Google is sent once for all passes of a class, and what became of each such message. */
export async function up(db: Knex): Promise<void> {
  // Null is a broadcast of before: one message for each pass.
  await db.schema.alterTable('broadcasts', (table) => table.text('google_via'))
  await db.schema.createTable('broadcast_classes', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('broadcast_id').notNullable()
    // Of the identity whose class it is; empty is that of the server.
    table.text('identity').notNullable()
    table.text('class_suffix').notNullable()
    table.text('status').notNullable()
    table.text('error')
    // Until then nobody else sends it.
    table.bigInteger('sending_until').notNullable()
    table.primary(['broadcast_id', 'identity', 'class_suffix'])
    table.index(['workspace_id', 'class_suffix'])
  })
}
