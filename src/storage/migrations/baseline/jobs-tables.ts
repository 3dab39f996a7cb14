import type { Knex } from 'knex'
import { QUEUE_VACUUM, setStorage } from './columns.ts'

/** Creates the outbox and what servers on one database share. */
export async function createJobs(db: Knex): Promise<void> {
  await db.schema.createTable('jobs', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.text('kind').notNullable()
    table.text('queue').notNullable()
    table.text('priority').notNullable()
    table.uuid('subject').notNullable()
    table.text('correlation_id')
    table.bigInteger('run_at').notNullable()
    table.integer('attempts').notNullable()
    // How often the lease ended while a worker held it.
    table.smallint('lapses').notNullable().defaultTo(0)
    table.uuid('claim_token')
    table.text('last_error')
    table.bigInteger('failed_at')
    table.bigInteger('created_at').notNullable()
  })
  // A planner uses an index with `created_at > 0` only for a query that states that condition, which is true for every job.
  // Statistics from when few jobs waited would otherwise select the wrong index.
  const waits = 'claim_token is null and failed_at is null'
  await db.raw(`create index jobs_due on jobs (queue, priority, run_at) where ${waits} and created_at > 0`)
  await db.raw(`create index jobs_turns on jobs (queue, priority, workspace_id, run_at) where ${waits} and lapses = 0`)
  await db.raw(`create index jobs_lapsed on jobs (workspace_id, run_at) where ${waits} and lapses > 0`)
  await db.raw(`create index jobs_of_workspace on jobs (workspace_id) where ${waits} and created_at > 0`)
  await db.raw('create index jobs_claimed on jobs (run_at) where claim_token is not null')
  await db.raw('create index jobs_failed on jobs (failed_at) where failed_at is not null')
  // One job per kind and subject runs at a time; the database rejects a second one.
  await db.raw('create unique index jobs_running on jobs (subject, kind) where claim_token is not null')
  await db.raw('create index jobs_waiting on jobs (subject, kind) where claim_token is null')
  await db.raw("create index jobs_detaching on jobs (workspace_id, subject) where kind = 'detach-project'")
  await setStorage(db, 'jobs', QUEUE_VACUUM)

  await db.schema.createTable('leases', (table) => {
    table.text('name').primary()
    table.uuid('holder').notNullable()
    table.bigInteger('held_until').notNullable()
  })
  // One row per API server, written only by that server.
  await db.schema.createTable('instances', (table) => {
    table.uuid('id').primary()
    // Raised with every write: readers see by their own clock that the server is alive.
    table.bigInteger('heartbeat').notNullable()
    // Allowed requests by key of the rate limit, as JSON.
    table.text('usage').notNullable()
  })

  await db.schema.createTable('sequences', (table) => {
    table.text('name').primary()
    table.bigInteger('value').notNullable()
  })
  await db('sequences').insert({ name: 'update-tag', value: 0 })
}
