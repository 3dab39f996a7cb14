import type { Knex } from 'knex'

/** How many people have a pass in Google Wallet, and ways to what is deleted by its age or by Apple's word. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('google_objects', (table) => {
    table.integer('holders').notNullable().defaultTo(0)
  })
  await db('google_objects').whereNotNull('installed_at').update({ holders: 1 })
  await db.schema.alterTable('google_callbacks', (table) => table.index(['received_at']))
  await db.schema.alterTable('apple_registrations', (table) => table.index(['push_token']))
}
