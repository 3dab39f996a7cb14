import type { Knex } from 'knex'

/** Who did what to which row, and which token recorded a scan. */
export async function up(db: Knex): Promise<void> {
  // No foreign keys: the log outlives what it tells of.
  await db.schema.createTable('audit_entries', (table) => {
    // Ascends with the time, so that it is also the order of the log and what retention goes by.
    table.uuid('id').primary()
    // Null for what concerns the whole database.
    table.uuid('workspace_id')
    // Null for an operator.
    table.uuid('token_id')
    table.text('actor').notNullable()
    table.text('action').notNullable()
    // Null where there are several, or none.
    table.uuid('target_id')
    // How many rows it was done to.
    table.integer('target_count').notNullable()
    table.text('correlation_id')
    table.bigInteger('created_at').notNullable()
    for (const filter of ['workspace_id', 'token_id', 'action']) table.index([filter, 'id'])
  })
  await db.raw('create index audit_entries_by_target on audit_entries (target_id, id) where target_id is not null')

  await db.schema.alterTable('scans', (table) => {
    // Null for scans of before.
    table.uuid('token_id')
  })
}
