import type { Knex } from 'knex'

/** When the holder of a transit ticket first activated it in Google Wallet. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('google_objects', (table) => {
    table.bigInteger('activated_at')
  })
}
