import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'
import { type Counter, conditionOf, counters, countRows, gateCounter, KEY, keyOf } from '../../operations/counters.ts'
import { type FigureSource, figureSources } from '../../operations/figures-repository.ts'
import { columnTypes, createTrigger, setStorage } from './columns.ts'

/**
 * Creates the counters and the triggers that maintain them. On PostgreSQL, each transaction counts in a separate slot,
 * so that no transaction waits for the counts of another. A count is the sum of its slots. The value of a single slot
 * can be negative.
 */
export async function createCounters(db: Knex): Promise<void> {
  const { uuid, sortedText, ofCounts } = columnTypes(db)
  await db.raw(`create table counts (
    workspace_id ${uuid} not null,
    counter ${sortedText} not null,
    "key" ${sortedText} not null,
    hour bigint not null,
    project_id ${sortedText} not null,
    template_id ${sortedText} not null,
    kind ${sortedText} not null,
    slot integer not null,
    n bigint not null,
    last_at bigint,
    primary key (${KEY.join(', ')}, slot)
  ) ${ofCounts}`)
  await inDialect(db, { postgres: countInSlots, sqlite: () => countOnSqlite(db, [...counters, gateCounter(db)]) })
}

async function countInSlots(db: Knex): Promise<void> {
  // The function returns the first slot that no other transaction uses, and locks it until the end of the transaction.
  await db.raw(`create function count_slot() returns integer language plpgsql as $$
    declare slot integer := 0;
    begin
      while not pg_try_advisory_xact_lock(${SLOTS}, slot) loop slot := slot + 1; end loop;
      return slot;
    end $$`)
  await countOnPostgres(db, counters, 'counts')
  // The gate counter has separate triggers, because it is the only counter that an update of a scan's context changes.
  await countOnPostgres(db, [gateCounter(db)], 'gate_counts')
}

/** The first key of the advisory locks of slots. */
const SLOTS = 7_277_438

const ADD = `insert into counts (${KEY.join(', ')}, slot, n, last_at)`

const merge = (latest: string) => `on conflict (${KEY.join(', ')}, slot)
  do update set n = counts.n + excluded.n, last_at = ${latest}`

/**
 * Returns the condition under which a row counts. If the counter has `distinctIn`, a row counts only if its pass has no
 * other row with the same values in these columns. Other rows of the same statement are ignored.
 */
function conditionOfChange(counter: Counter, row: string, isOther: string): string {
  const { table, distinctIn } = counter
  if (!distinctIn) return conditionOf(counter, row)
  const columns = ['workspace_id', 'pass_id', ...distinctIn]
  // Compare with `=` if possible, because `is not distinct from` uses no index.
  const conditions = columns.map(
    (column) => `other.${column} ${isNullable(column) ? 'is not distinct from' : '='} ${row}.${column}`,
  )
  // Use a scalar subselect, because a planner cannot turn a scalar subselect into a join. With an outdated plan, a join
  // would read all rows.
  return `${conditionOf(counter, row)}
    and (select 1 from ${table} other where ${conditions.join(' and ')} and ${isOther} limit 1) is null`
}

const isNullable = (column: string) => column === 'project_id' || column === 'template_id'

/** The setting of trigger functions, so that a plan from when a table was small does not scan the grown table. */
const WITHOUT_SCANS = 'set enable_seqscan = off'

async function countOnPostgres(db: Knex, added: Counter[], suffix: string): Promise<void> {
  for (const table of new Set(added.map((counter) => counter.table))) {
    const ofTable = added.filter((counter) => counter.table === table)
    const changes = (rows: string, sign = '') =>
      ofTable.map((counter) => {
        const isOther = `other.scan_id not in (select scan_id from ${rows})`
        return countRows(counter, rows, conditionOfChange(counter, 'one', isOther), sign)
      })
    const [plus, minus] = [changes('added'), changes('removed', '-')]
    const all = 'for each statement'
    await count(`${table}_add_${suffix}`, plus, `after insert on ${table} referencing new table as added ${all}`)
    await count(`${table}_take_${suffix}`, minus, `after delete on ${table} referencing old table as removed ${all}`)
    if (ofTable.every(({ watched }) => watched.length === 0)) continue
    const both = `referencing old table as removed new table as added ${all}`
    await count(`${table}_move_${suffix}`, [...plus, ...minus], `after update on ${table} ${both}`)
  }

  async function count(name: string, changes: string[], when: string): Promise<void> {
    const sums = `select ${KEY.join(', ')}, sum(n) as n, max(last_at) as last_at
      from (${changes.join(' union all ')}) changes group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0`
    const values = `select ${KEY.join(', ')}, (select count_slot()), n, last_at from (${sums}) added where true`
    const add = `${ADD} ${values} ${merge('greatest(counts.last_at, excluded.last_at)')}`
    await createTrigger(db, name, when, `${add}; return null;`, WITHOUT_SCANS)
  }
}

async function countOnSqlite(db: Knex, added: Counter[]): Promise<void> {
  const latest = 'max(coalesce(last_at, excluded.last_at), coalesce(excluded.last_at, last_at))'
  const add = (counter: Counter, row: string, n: number) => {
    const where = conditionOfChange(counter, row, `other.scan_id <> ${row}.scan_id`)
    const last = counter.parts(row).last_at ?? 'null'
    return `${ADD} select ${keyOf(counter, row).join(', ')}, 0, ${n}, ${last} where ${where} ${merge(latest)};`
  }
  for (const counter of added) {
    const { name, table, watched } = counter
    await db.raw(`create trigger "${name}-added" after insert on ${table} begin ${add(counter, 'new', 1)} end`)
    await db.raw(`create trigger "${name}-taken" after delete on ${table} begin ${add(counter, 'old', -1)} end`)
    if (watched.length === 0) continue
    const differs = watched.map((column) => `old.${column} is not new.${column}`).join(' or ')
    await db.raw(`create trigger "${name}-moved" after update of ${watched.join(', ')} on ${table} when ${differs}
      begin ${add(counter, 'old', -1)} ${add(counter, 'new', 1)} end`)
  }
}

/**
 * Creates the hourly figures of projects, and the triggers that count them in slots, as for the counters. Past hours
 * are packed into one row per project and four weeks (decisions/0005).
 */
export async function createFigures(db: Knex): Promise<void> {
  const { uuid, sortedText, bytes, ofCounts } = columnTypes(db)
  await db.raw(`create table figures (
    workspace_id ${uuid} not null,
    project_id ${uuid} not null,
    hour bigint not null,
    figure ${sortedText} not null,
    slot integer not null,
    n bigint not null,
    primary key (workspace_id, project_id, hour, figure, slot)
  ) ${ofCounts}`)
  await db.raw('create index figures_by_hour on figures (hour)')
  // Do not create this table `without rowid`. Otherwise, SQLite would leave a third of each page unused, because the
  // rows are large.
  await db.raw(`create table packed_figures (
    workspace_id ${uuid} not null,
    project_id ${uuid} not null,
    block integer not null,
    packed ${bytes} not null,
    primary key (workspace_id, project_id, block)
  )`)
  for (const source of figureSources(db))
    await inDialect(db, {
      postgres: () => countFiguresOnPostgres(db, source),
      sqlite: () => countFiguresOnSqlite(db, source),
    })
}

const addFigures = (rows: string) => `insert into figures (workspace_id, project_id, hour, figure, slot, n) ${rows}
  on conflict (workspace_id, project_id, hour, figure, slot) do update set n = figures.n + excluded.n`

async function countFiguresOnPostgres(
  db: Knex,
  { name, table, parts, isCounted, onUpdate }: FigureSource,
): Promise<void> {
  const rows = onUpdate
    ? `added one join removed before on ${onUpdate.key.map((key) => `before.${key} = one.${key}`).join(' and ')}`
    : 'added one'
  const where = onUpdate ? `${onUpdate.isChange('before', 'one')} and ${isCounted('one')}` : isCounted('one')
  const sums = `select ${parts('one').join(', ')}, (select count_slot()), count(*) from ${rows} where ${where} group by 1, 2, 3, 4`
  const when = onUpdate
    ? `after update on ${table} referencing old table as removed new table as added`
    : `after insert on ${table} referencing new table as added`
  const add = `${addFigures(sums)}; return null;`
  await createTrigger(db, `${table}_${name}_figures`, `${when} for each statement`, add, WITHOUT_SCANS)
}

async function countFiguresOnSqlite(
  db: Knex,
  { name, table, parts, isCounted, onUpdate }: FigureSource,
): Promise<void> {
  const rows = addFigures(`select ${parts('new').join(', ')}, 0, 1 where true`)
  const when = onUpdate
    ? `after update of ${onUpdate.column} on ${table} when ${onUpdate.isChange('old', 'new')} and ${isCounted('new')}`
    : `after insert on ${table} when ${isCounted('new')}`
  await db.raw(`create trigger "${name}-figures" ${when} begin ${rows}; end`)
}

/** The columns that count toward the stored bytes of a workspace, and their sizes as SQL. */
const measured = [
  { table: 'passes', column: 'variables', isPass: true, size: (row: string) => `octet_length(${row}.variables)` },
  { table: 'template_versions', column: 'definition', size: (row: string) => `octet_length(${row}.definition)` },
  { table: 'images', column: 'bytes', size: (row: string) => `${row}.bytes` },
  { table: 'image_files', column: 'data', size: (row: string) => `octet_length(${row}.data)` },
]

const ADD_USAGE = `insert into workspace_usage (workspace_id, shard, passes, stored_bytes)`
const MERGE_USAGE = `on conflict (workspace_id, shard) do update set passes = workspace_usage.passes + excluded.passes,
  stored_bytes = workspace_usage.stored_bytes + excluded.stored_bytes`

/**
 * Creates the usage of workspaces, maintained by triggers. On PostgreSQL, connections count in up to 16 rows per
 * workspace, so that they rarely wait for each other (decisions/0005).
 */
export async function createUsage(db: Knex): Promise<void> {
  await db.schema.createTable('workspace_usage', (table) => {
    table.uuid('workspace_id').notNullable()
    table.smallint('shard').notNullable()
    // A value can be negative: one connection can add in one shard, and another one subtract in another shard.
    table.bigInteger('passes').notNullable()
    table.bigInteger('stored_bytes').notNullable()
    table.primary(['workspace_id', 'shard'])
  })
  // Each new pass rewrites a row. With free space on the page, PostgreSQL does this without writing to the index.
  await setStorage(db, 'workspace_usage', 'fillfactor = 25')
  await inDialect(db, { postgres: measureOnPostgres, sqlite: measureOnSqlite })
}

/** Counts inserts, which can have many rows, once per statement, and other changes once per row. */
async function measureOnPostgres(db: Knex): Promise<void> {
  const shard = 'pg_backend_pid() % 16'
  for (const { table, column, isPass, size } of measured) {
    const add = (name: string, when: string, values: string) =>
      createTrigger(db, `${table}_${name}`, when, `${ADD_USAGE} ${values} ${MERGE_USAGE}; return null;`)
    await add(
      'counted',
      `after insert on ${table} referencing new table as added for each statement`,
      `select workspace_id, ${shard}, ${isPass ? 'count(*)' : '0'}, sum(${size('added')}) from added group by workspace_id`,
    )
    await add(
      'recounted',
      `after update of ${column} on ${table} for each row when (${size('new')} <> ${size('old')})`,
      `values (new.workspace_id, ${shard}, 0, ${size('new')} - ${size('old')})`,
    )
    await add(
      'discounted',
      `after delete on ${table} for each row`,
      `values (old.workspace_id, ${shard}, ${isPass ? -1 : 0}, -${size('old')})`,
    )
  }
}

async function measureOnSqlite(db: Knex): Promise<void> {
  for (const { table, column, isPass, size } of measured) {
    const passes = isPass ? 1 : 0
    await db.raw(`create trigger ${table}_counted after insert on ${table}
      begin ${ADD_USAGE} values (new.workspace_id, 0, ${passes}, ${size('new')}) ${MERGE_USAGE}; end`)
    await db.raw(`create trigger ${table}_recounted after update of ${column} on ${table}
      when ${size('new')} <> ${size('old')}
      begin ${ADD_USAGE} values (new.workspace_id, 0, 0, ${size('new')} - ${size('old')}) ${MERGE_USAGE}; end`)
    await db.raw(`create trigger ${table}_discounted after delete on ${table}
      begin ${ADD_USAGE} values (old.workspace_id, 0, ${-passes}, -${size('old')}) ${MERGE_USAGE}; end`)
  }
}
