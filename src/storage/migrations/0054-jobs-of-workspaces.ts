import type { Knex } from 'knex'

/**
 * Only who counts the jobs of a workspace takes this index: as with jobs_due (0017), its condition has to be asked for. With
 * statistics from when few jobs waited, PostgreSQL else went along it from job to job to find whose turn is next.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw('drop index jobs_of_workspace')
  await db.raw(`create index jobs_of_workspace on jobs (workspace_id)
    where claim_token is null and failed_at is null and created_at > 0`)
}
