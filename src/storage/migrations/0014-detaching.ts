import type { Knex } from 'knex'

/** Lists ask which projects are being left by their passes, among however many jobs that wait. */
export async function up(db: Knex): Promise<void> {
  await db.raw("create index jobs_detaching on jobs (workspace_id, subject) where kind = 'detach-project'")
}
