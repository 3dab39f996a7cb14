import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'
import { columnTypes, createTrigger, QUEUE_VACUUM, setStorage } from './columns.ts'

export async function createWebhooks(db: Knex): Promise<void> {
  await createEvents(db)

  await db.schema.createTable('webhooks', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('url').notNullable()
    // The subscribed event types as a JSON list.
    table.text('events').notNullable()
    // A JSON object. For each subscribed event type, it contains the `webhook_epoch` that the workspace had when the
    // subscription to this type began.
    table.text('subscribed_at').notNullable().defaultTo('{}')
    table.text('description').notNullable()
    table.text('status').notNullable()
    table.text('disabled_reason')
    // The signing secret, encrypted with the server key.
    table.text('secret').notNullable()
    // The previous secrets as a JSON list of {secret, until}, newest first.
    table.text('retired_secrets').notNullable().defaultTo('[]')
    // A number that increases when the endpoint is disabled. Deliveries with an older generation are never sent.
    table.integer('generation').notNullable()
    // The time of the first failure since the last success; null without such a failure.
    table.bigInteger('failing_since')
    // A number that increases when pending deliveries are erased. Senders then read their queued deliveries again.
    table.integer('erasures').notNullable().defaultTo(0)
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'id'])
  })

  // No foreign keys, because deliveries remain readable after their endpoint is deleted.
  await db.schema.createTable('webhook_deliveries', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('webhook_id').notNullable()
    table.uuid('event_id').notNullable()
    table.text('event_type').notNullable()
    table.integer('generation').notNullable()
    table.text('status').notNullable()
    table.bigInteger('due_at')
    // The number of past automatic attempts, which determines the next retry time. Manual redeliveries do not count.
    table.integer('scheduled_attempts').notNullable()
    table.boolean('is_redelivery').notNullable()
    // The time at which the schedule continues after a redelivery.
    table.bigInteger('resume_at')
    table.integer('attempt_count').notNullable()
    table.integer('last_response_code')
    table.text('last_error')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'status', 'id'])
  })
  await db.raw(
    `create index webhook_deliveries_due on webhook_deliveries (webhook_id, generation, due_at) where status = 'PENDING'`,
  )
  // This index contains only deliveries whose last attempt failed, so that a successful attempt does not write to it.
  await db.raw(
    'create index webhook_deliveries_failing on webhook_deliveries (workspace_id, id) where last_error is not null',
  )
  // Each attempt rewrites the row. With free space on the page, PostgreSQL does this without writing to unchanged
  // indexes.
  await setStorage(db, 'webhook_deliveries', `fillfactor = 80, ${QUEUE_VACUUM}`)
  await createDeliveryKeys(db)

  await db.schema.createTable('webhook_attempts', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('delivery_id').notNullable()
    table.integer('number').notNullable()
    table.bigInteger('started_at').notNullable()
    table.integer('duration_ms').notNullable()
    table.integer('response_code')
    table.text('error')
    table.primary(['delivery_id', 'number'])
  })
}

async function createEvents(db: Knex): Promise<void> {
  const { position, nextPosition } = columnTypes(db)
  await db.schema.createTable('events', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.text('type').notNullable()
    table.uuid('subject').notNullable()
    table.text('data').notNullable()
    table.text('correlation_id')
    table.bigInteger('created_at').notNullable()
    // The position of the event in the event stream; null for an event that is not streamed.
    table.specificType('position', `${position} default ${nextPosition}`)
    table.index(['workspace_id', 'subject'])
    table.index(['workspace_id', 'position', 'id'], 'events_by_position')
  })
  // On SQLite, which has one writer, a trigger sets positions. A position is at least the time in milliseconds.
  // Otherwise, positions would be reused after retention deleted all events.
  const count = () =>
    db.raw(`create trigger events_in_order after insert on events begin
      update events set position = max(new.created_at,
        1 + coalesce((select max(position) from events where workspace_id = new.workspace_id), 0))
      where id = new.id; end`)
  await inDialect(db, { sqlite: count })

  // Events whose deliveries the worker still has to create.
  await db.schema.createTable('pending_events', (table) => {
    // The ID of the event.
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.integer('epoch').notNullable()
    table.index(['workspace_id', 'id'])
  })
  await setStorage(db, 'pending_events', QUEUE_VACUUM)
}

/**
 * Creates a table with the immutable columns by which deliveries are listed. Triggers maintain the table like an index.
 * With indexes on `webhook_deliveries` instead, PostgreSQL would write to all of them whenever an attempt changes the
 * status.
 */
async function createDeliveryKeys(db: Knex): Promise<void> {
  await db.schema.createTable('delivery_keys', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('webhook_id').notNullable()
    table.text('event_type').notNullable()
    table.uuid('event_id').notNullable()
    table.index(['workspace_id', 'id'])
    for (const filter of ['webhook_id', 'event_type']) table.index(['workspace_id', filter, 'id'])
    table.index(['event_id'])
  })
  const columns = 'id, workspace_id, webhook_id, event_type, event_id'
  await inDialect(db, {
    async postgres() {
      const add = `insert into delivery_keys (${columns}) select ${columns} from added; return null;`
      const onInsert = 'after insert on webhook_deliveries referencing new table as added for each statement'
      await createTrigger(db, 'webhook_deliveries_added', onInsert, add)
      const remove = 'delete from delivery_keys using deleted where delivery_keys.id = deleted.id; return null;'
      const onDelete = 'after delete on webhook_deliveries referencing old table as deleted for each statement'
      await createTrigger(db, 'webhook_deliveries_deleted', onDelete, remove)
    },
    async sqlite() {
      await db.raw(`create trigger webhook_deliveries_added after insert on webhook_deliveries
        begin insert into delivery_keys (${columns}) values (${columns.replaceAll(/\w+/g, 'new.$&')}); end`)
      await db.raw(`create trigger webhook_deliveries_deleted after delete on webhook_deliveries
        begin delete from delivery_keys where id = old.id; end`)
    },
  })
}

/** Creates the outbox, and the tables that servers on the same database use to coordinate their work. */
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
    // The number of times that the lease ended while a worker held the job.
    table.smallint('lapses').notNullable().defaultTo(0)
    table.uuid('claim_token')
    table.text('last_error')
    table.bigInteger('failed_at')
    table.bigInteger('created_at').notNullable()
  })
  // `created_at > 0` is true for every job. Only queries that contain this condition can use the indexes with it.
  // Without the condition, a planner with statistics from when jobs were few would use these indexes for the wrong
  // queries.
  const waits = 'claim_token is null and failed_at is null'
  await db.raw(`create index jobs_due on jobs (queue, priority, run_at) where ${waits} and created_at > 0`)
  await db.raw(`create index jobs_turns on jobs (queue, priority, workspace_id, run_at) where ${waits} and lapses = 0`)
  await db.raw(`create index jobs_lapsed on jobs (workspace_id, run_at) where ${waits} and lapses > 0`)
  await db.raw(`create index jobs_of_workspace on jobs (workspace_id) where ${waits} and created_at > 0`)
  await db.raw('create index jobs_claimed on jobs (run_at) where claim_token is not null')
  await db.raw('create index jobs_failed on jobs (failed_at) where failed_at is not null')
  // Only one job per kind and subject can run at a time. The database rejects the claim of a second job.
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
    // The number of writes, from which other servers detect that the server is alive without comparing clocks.
    table.bigInteger('heartbeat').notNullable()
    // The number of accepted requests by rate-limit key, as JSON.
    table.text('usage').notNullable()
  })

  await db.schema.createTable('sequences', (table) => {
    table.text('name').primary()
    table.bigInteger('value').notNullable()
  })
  await db('sequences').insert({ name: 'update-tag', value: 0 })
}
