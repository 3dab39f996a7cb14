import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'
import { type Counter, conditionOf, counters, countRows, gateCounter, KEY, keyOf } from '../../operations/counters.ts'
import { columnTypes } from './columns.ts'

/**
 * Creates the counters and the triggers that maintain them. On PostgreSQL, each transaction counts in a separate slot, so that no
 * transaction waits for the counts of another. A count is the sum of its slots; a single slot can be negative.
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
  // The first slot in which no other transaction counts. The transaction keeps the slot until it ends.
  await db.raw(`create function count_slot() returns integer language plpgsql as $$
    declare slot integer := 0;
    begin
      while not pg_try_advisory_xact_lock(${SLOTS}, slot) loop slot := slot + 1; end loop;
      return slot;
    end $$`)
  await countOnPostgres(db, counters, 'counts')
  // Separate from the others, because rows of the ledger can be updated, and only an update of the context counts.
  await countOnPostgres(db, [gateCounter(db)], 'gate_counts')
}

/** The class of the advisory locks of slots. */
const SLOTS = 7_277_438

const ADD = `insert into counts (${KEY.join(', ')}, slot, n, last_at)`

const merge = (latest: string) => `on conflict (${KEY.join(', ')}, slot)
  do update set n = counts.n + excluded.n, last_at = ${latest}`

/** The condition that a row counts and that no row of the same pass exists, except those that are being written. */
function conditionOfChange(counter: Counter, row: string, isOther: string): string {
  const { table, distinctIn } = counter
  if (!distinctIn) return conditionOf(counter, row)
  const columns = ['workspace_id', 'pass_id', ...distinctIn]
  // A comparison that can hold for null uses no index.
  const conditions = columns.map(
    (column) => `other.${column} ${isNullable(column) ? 'is not distinct from' : '='} ${row}.${column}`,
  )
  // A planner cannot turn a scalar subselect into a join, which would read all rows under an old plan.
  return `${conditionOf(counter, row)}
    and (select 1 from ${table} other where ${conditions.join(' and ')} and ${isOther} limit 1) is null`
}

const isNullable = (column: string) => column === 'project_id' || column === 'template_id'

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
    await createTrigger(
      `${table}_add_${suffix}`,
      plus,
      `after insert on ${table} referencing new table as added ${all}`,
    )
    await createTrigger(
      `${table}_take_${suffix}`,
      minus,
      `after delete on ${table} referencing old table as removed ${all}`,
    )
    if (ofTable.every(({ watched }) => watched.length === 0)) continue
    const both = `referencing old table as removed new table as added ${all}`
    await createTrigger(`${table}_move_${suffix}`, [...plus, ...minus], `after update on ${table} ${both}`)
  }

  async function createTrigger(name: string, changes: string[], when: string): Promise<void> {
    const sums = `select ${KEY.join(', ')}, sum(n) as n, max(last_at) as last_at
      from (${changes.join(' union all ')}) changes group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0`
    const values = `select ${KEY.join(', ')}, (select count_slot()), n, last_at from (${sums}) added where true`
    await db.raw(`create function ${name}() returns trigger language plpgsql set enable_seqscan = off as $$
      begin ${ADD} ${values} ${merge('greatest(counts.last_at, excluded.last_at)')}; return null; end $$`)
    await db.raw(`create trigger ${name} ${when} execute function ${name}()`)
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
