import type { Knex } from 'knex'

/** A job is in quarantine after five lapses instead of three: those that are there stay there. */
export async function up(db: Knex): Promise<void> {
  await db('jobs').whereNotNull('failed_at').where('lapses', 3).update({ lapses: 5 })
}
