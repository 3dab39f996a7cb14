import type { Knex } from 'knex'

/** A workspace may forbid scanning offline. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('workspaces', (table) => {
    table.boolean('offline_scanning').notNullable().defaultTo(true)
  })
}
