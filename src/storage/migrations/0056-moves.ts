import type { Knex } from 'knex'

/** Where the phones of a workspace are told to ask from now on, and how far they were told. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('moves', (table) => {
    table.uuid('workspace_id').primary()
    table.uuid('id').notNullable()
    // The webServiceURL of packages.
    table.text('url').notNullable()
    table.integer('passes_a_second').notNullable()
    table.bigInteger('started_at').notNullable()
    // When passes were last told of, which the pace is counted from.
    table.bigInteger('taken_at').notNullable()
    // The pass behind which the round goes on; null where one begins.
    table.uuid('place')
    table.bigInteger('round_at').notNullable()
    // When a round first found nothing left; null before.
    table.bigInteger('told_at')
  })
  await db.schema.createTable('moved_passes', (table) => {
    table.uuid('pass_id').primary()
    table.uuid('workspace_id').notNullable().index()
    table.uuid('move_id').notNullable()
    // The first wallet version that names the new address.
    table.integer('version').notNullable()
  })
}
