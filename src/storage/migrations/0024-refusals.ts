import type { Knex } from 'knex'

/** What a platform refuses for good: a template version, or a pass. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('refusals', (table) => {
    table.uuid('workspace_id').notNullable()
    /** Of the version or the pass. */
    table.uuid('subject').notNullable()
    table.text('kind').notNullable()
    table.text('platform').notNullable()
    table.text('code').notNullable()
    table.text('message').notNullable()
    table.bigInteger('at').notNullable()
    table.primary(['workspace_id', 'subject', 'platform'])
    table.index(['kind', 'at'], 'refusals_by_kind')
  })
}
