import type { Knex } from 'knex'

/** What Google was last sent of a pass, so that an update in which nothing of it changed costs no request. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('google_objects', (table) => {
    // Null where what Google has is not known for sure; a mark while a send is under way.
    table.text('sent_digest')
  })
}
