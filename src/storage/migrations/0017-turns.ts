import type { Knex } from 'knex'

/**
 * Workspaces take turns in each queue, and jobs whose lease lapsed wait apart from the rest: claims find both along
 * indexes of their own. Nothing reads `priority` any more: what a person waits for has queues of its own.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('jobs', (table) => {
    // How often the lease ended while a worker held it.
    table.smallint('lapses').notNullable().defaultTo(0)
  })
  const waits = 'claim_token is null and failed_at is null'
  await db.raw('drop index jobs_due')
  // Every job was made at some time: only who asks in the order of time says so, and no planner takes this index for a turn.
  await db.raw(`create index jobs_due on jobs (lane, run_at) where ${waits} and created_at > 0`)
  await db.raw(`create index jobs_turns on jobs (lane, workspace_id, run_at) where ${waits} and lapses = 0`)
  await db.raw(`create index jobs_suspects on jobs (workspace_id, run_at) where ${waits} and lapses > 0`)
}
