import type { Knex } from 'knex'

/** Where a device stands in the order of announced changes; as its pass says, where nothing was announced to it since. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('apple_registrations', (table) => table.bigInteger('device_tag'))
}
