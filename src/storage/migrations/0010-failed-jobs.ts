import type { Knex } from 'knex'

/** Jobs that gave up are looked for by operators, among however many that wait. */
export async function up(db: Knex): Promise<void> {
  await db.raw('create index jobs_failed on jobs (failed_at) where failed_at is not null')
}
