import type { Knex } from 'knex'

/** What the wallets of former holders hold: passes that went to somebody else, under another serial number. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('passes', (table) => {
    // Null is the id of the pass.
    table.uuid('serial_number')
  })
  await db.raw('create unique index passes_by_serial_number on passes (serial_number) where serial_number is not null')

  await db.schema.createTable('former_passes', (table) => {
    table.uuid('serial_number').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.uuid('template_version_id').notNullable()
    table.text('apple_token').notNullable()
    // Where its end stands in the order of announced changes; 0 until phones were told.
    table.bigInteger('wallet_tag').notNullable()
    table.bigInteger('modified_at').notNullable()
    table.bigInteger('ended_at').notNullable().index()
  })
  await db.schema.createTable('former_registrations', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('serial_number').notNullable().references('former_passes.serial_number').onDelete('CASCADE')
    table.text('device_id').notNullable()
    table.text('push_token').notNullable().index()
    table.boolean('is_pushed').notNullable()
    table.primary(['device_id', 'serial_number'])
    table.index(['serial_number'])
  })

  await db.schema.alterTable('google_former_objects', (table) => {
    // Of a former holder: it shows nothing of the next one.
    table.boolean('is_transferred').notNullable().defaultTo(false)
    // Null while Google was not told that it is over.
    table.bigInteger('expired_at')
  })
}
