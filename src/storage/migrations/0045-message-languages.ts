import type { Knex } from 'knex'

/**
 * Messages in several languages: what they say in each, as JSON. `body` then holds the first of them, which is what a program
 * of before sends; null is a message that says the same in all.
 */
export async function up(db: Knex): Promise<void> {
  for (const name of ['notifications', 'broadcasts']) {
    await db.schema.alterTable(name, (table) => table.text('body_by_language'))
  }
}
