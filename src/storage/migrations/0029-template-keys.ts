import type { Knex } from 'knex'

/** A name of a template that files call it by. One that is deleted gives its key free. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('templates', (table) => {
    table.text('key')
  })
  await db.raw('create unique index templates_by_key on templates (workspace_id, "key") where deleted_at is null')
}
