import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'
import { setStorage } from './columns.ts'

/** The columns that workspaces fill, and their sizes in SQL. */
const measured = [
  { table: 'passes', column: 'variables', isPass: true, size: (row: string) => `octet_length(${row}.variables)` },
  { table: 'template_versions', column: 'definition', size: (row: string) => `octet_length(${row}.definition)` },
  { table: 'images', column: 'bytes', size: (row: string) => `${row}.bytes` },
  { table: 'image_files', column: 'data', size: (row: string) => `octet_length(${row}.data)` },
]

const ADD = `insert into workspace_usage (workspace_id, shard, passes, stored_bytes)`
const MERGE = `on conflict (workspace_id, shard) do update set passes = workspace_usage.passes + excluded.passes,
  stored_bytes = workspace_usage.stored_bytes + excluded.stored_bytes`

/**
 * Creates the usage of workspaces, maintained by triggers. On PostgreSQL each connection counts in its own row
 * (decisions/0002).
 */
export async function createUsage(db: Knex): Promise<void> {
  await db.schema.createTable('workspace_usage', (table) => {
    table.uuid('workspace_id').notNullable()
    table.smallint('shard').notNullable()
    // One shard can be below zero: one connection adds what another one subtracts.
    table.bigInteger('passes').notNullable()
    table.bigInteger('stored_bytes').notNullable()
    table.primary(['workspace_id', 'shard'])
  })
  // Each create rewrites the row.
  await setStorage(db, 'workspace_usage', 'fillfactor = 25')
  await inDialect(db, { postgres: measureOnPostgres, sqlite: measureOnSqlite })
}

/** Once per statement for inserts, which can have many rows; once per row for the rest. */
async function measureOnPostgres(db: Knex): Promise<void> {
  const shard = 'pg_backend_pid() % 16'
  for (const { table, column, isPass, size } of measured) {
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

async function measureOnSqlite(db: Knex): Promise<void> {
  for (const { table, column, isPass, size } of measured) {
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
