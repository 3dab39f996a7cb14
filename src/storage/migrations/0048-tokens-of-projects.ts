import type { Knex } from 'knex'

/** Tokens may be bound to projects; those of before see their whole workspace. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('tokens', (table) => {
    table.text('project_ids')
  })
}
