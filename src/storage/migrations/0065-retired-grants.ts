import type { Knex } from 'knex'

/** A workspace may lose an identity that it was given; the passes that it made under it stay, and are kept up to date. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('workspace_identities', (table) => {
    table.boolean('is_retired').notNullable().defaultTo(false)
  })
}
