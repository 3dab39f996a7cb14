import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** What is counted in bytes: the column of each table that a customer fills, and its size in SQL. */
const counted = [
  { table: 'passes', column: 'variables', isPass: true, size: (row: string) => `octet_length(${row}.variables)` },
  { table: 'template_versions', column: 'definition', size: (row: string) => `octet_length(${row}.definition)` },
  { table: 'images', column: 'bytes', size: (row: string) => `${row}.bytes` },
  { table: 'image_files', column: 'data', size: (row: string) => `octet_length(${row}.data)` },
]

/**
 * Limits of each workspace, and how much of them it uses. Triggers count, as they would keep an index, so that nothing is
 * written past the counters. On PostgreSQL each connection counts in a row of its own (decisions/0026).
 */
export async function up(db: Knex): Promise<void> {
  // Null: the default, which may change from one release to the next.
  await db.schema.createTable('workspace_limits', (table) => {
    table.uuid('workspace_id').primary().references('workspaces.id')
    for (const name of ['webhooks', 'passes', 'stored_bytes', 'waiting_jobs']) table.bigInteger(name)
    for (const name of ['drafts_per_template', 'scheduled_sends', 'requests_in_flight']) table.bigInteger(name)
  })
  await db.schema.createTable('workspace_usage', (table) => {
    table.uuid('workspace_id').notNullable()
    table.smallint('shard').notNullable()
    // Those of one shard alone may be below zero: what one connection added another takes away.
    table.bigInteger('passes').notNullable()
    table.bigInteger('stored_bytes').notNullable()
    table.primary(['workspace_id', 'shard'])
  })
  await (isPostgres(db) ? countOnPostgres(db) : countOnSqlite(db))
  // Behind the triggers: on PostgreSQL they wait for whoever writes, and keep others from it until the end.
  const sums = counted.map(({ table, isPass, size }) => {
    const passes = isPass ? 'count(*)' : '0'
    return `select workspace_id, ${passes} as passes, sum(${size('one')}) as bytes from ${table} one group by workspace_id`
  })
  await db.raw(`insert into workspace_usage (workspace_id, shard, passes, stored_bytes)
    select workspace_id, 0, sum(passes), sum(bytes) from (${sums.join(' union all ')}) sums group by workspace_id`)

  await db.raw(
    `create index template_versions_drafts on template_versions (workspace_id, template_id) where stage = 'draft'`,
  )
  const scheduled = 'where send_at is not null and started_at is null'
  for (const table of ['notifications', 'broadcasts']) {
    await db.raw(`create index ${table}_scheduled on ${table} (workspace_id, send_at) ${scheduled}`)
  }
  await db.raw('create index jobs_of_workspace on jobs (workspace_id) where claim_token is null and failed_at is null')
}

const ADD = `insert into workspace_usage (workspace_id, shard, passes, stored_bytes)`
const MERGE = `on conflict (workspace_id, shard) do update set passes = workspace_usage.passes + excluded.passes,
  stored_bytes = workspace_usage.stored_bytes + excluded.stored_bytes`

/** Once a statement for what is inserted, which may be many rows; a row at a time for the rest. */
async function countOnPostgres(db: Knex): Promise<void> {
  // Rewritten with every create: room on the page for the versions that nobody sees any more.
  await db.raw('alter table workspace_usage set (fillfactor = 25)')
  const shard = 'pg_backend_pid() % 16'
  for (const { table, column, isPass, size } of counted) {
    await createTrigger(
      `${table}_counted`,
      `${ADD} select workspace_id, ${shard}, ${isPass ? 'count(*)' : '0'}, sum(${size('added')}) from added
        group by workspace_id ${MERGE};`,
      `after insert on ${table} referencing new table as added for each statement`,
    )
    await createTrigger(
      `${table}_recounted`,
      `${ADD} values (new.workspace_id, ${shard}, 0, ${size('new')} - ${size('old')}) ${MERGE};`,
      `after update of ${column} on ${table} for each row when (${size('new')} <> ${size('old')})`,
    )
    await createTrigger(
      `${table}_discounted`,
      `${ADD} values (old.workspace_id, ${shard}, ${isPass ? -1 : 0}, -${size('old')}) ${MERGE};`,
      `after delete on ${table} for each row`,
    )
  }

  async function createTrigger(name: string, statement: string, when: string): Promise<void> {
    await db.raw(`create function ${name}() returns trigger language plpgsql as $$
      begin ${statement} return null; end $$`)
    await db.raw(`create trigger ${name} ${when} execute function ${name}()`)
  }
}

async function countOnSqlite(db: Knex): Promise<void> {
  for (const { table, column, isPass, size } of counted) {
    const passes = isPass ? 1 : 0
    await db.raw(`create trigger ${table}_counted after insert on ${table}
      begin ${ADD} values (new.workspace_id, 0, ${passes}, ${size('new')}) ${MERGE}; end`)
    await db.raw(`create trigger ${table}_recounted after update of ${column} on ${table}
      when ${size('new')} <> ${size('old')}
      begin ${ADD} values (new.workspace_id, 0, 0, ${size('new')} - ${size('old')}) ${MERGE}; end`)
    await db.raw(`create trigger ${table}_discounted after delete on ${table}
      begin ${ADD} values (old.workspace_id, 0, ${-passes}, -${size('old')}) ${MERGE}; end`)
  }
}
