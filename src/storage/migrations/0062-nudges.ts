import type { Knex } from 'knex'

/** When passes are looked at again, whose phones were pushed and may have stayed silent. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('nudges', (table) => {
    table.uuid('pass_id').primary()
    table.uuid('workspace_id').notNullable()
    // The wallet version that phones were first pushed for at that moment.
    table.integer('version').notNullable()
    table.bigInteger('pushed_at').notNullable()
    // Null where the phones of this version are left alone for good.
    table.bigInteger('due_at')
  })
  await db.raw('create index nudges_due on nudges (workspace_id, due_at) where due_at is not null')
}
