import type { Knex } from 'knex'

/** What devices wrote about passes to the log endpoint of the PassKit web service. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('device_logs', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('pass_id').notNullable()
    // A digest of the device that the message names.
    table.text('device')
    table.text('message').notNullable()
    table.index(['workspace_id', 'id'])
    table.index(['workspace_id', 'pass_id', 'id'])
  })
}
