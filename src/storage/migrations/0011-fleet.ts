import type { Knex } from 'knex'

/** What servers on one database tell each other. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('leases', (table) => {
    table.text('name').primary()
    table.uuid('holder').notNullable()
    table.bigInteger('held_until').notNullable()
  })

  // One row a server that answers requests; only it writes the row.
  await db.schema.createTable('replicas', (table) => {
    table.uuid('id').primary()
    // Raised with every write: whoever reads it sees by his own clock that the other lives.
    table.bigInteger('beat').notNullable()
    // Requests let through, by key of the rate limit, as JSON.
    table.text('spent').notNullable()
  })
}
