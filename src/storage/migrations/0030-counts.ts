import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/**
 * Counts that are kept with what they count, by triggers, so that nothing is written past them and what is rolled back is
 * not counted. On PostgreSQL a transaction counts in a slot that is its own until it ends: nobody waits for another's
 * counts. A count is the sum of its slots, of which one alone may be below zero (decisions/0039).
 */
export async function up(db: Knex): Promise<void> {
  const [uuid, sorted] = isPostgres(db) ? ['uuid', 'text collate "C"'] : ['text', 'text']
  await db.raw(`create table counts (
    workspace_id ${uuid} not null,
    counter ${sorted} not null,
    "key" ${sorted} not null,
    hour bigint not null,
    project_id ${sorted} not null,
    template_id ${sorted} not null,
    kind ${sorted} not null,
    slot integer not null,
    n bigint not null,
    last_at bigint,
    primary key (${KEY.join(', ')}, slot)
  ) ${isPostgres(db) ? 'with (fillfactor = 50)' : 'without rowid'}`)
  if (isPostgres(db)) {
    // The first slot that no other transaction counts in; it stays this one's until its end.
    await db.raw(`create function count_slot() returns integer language plpgsql as $$
      declare slot integer := 0;
      begin
        while not pg_try_advisory_xact_lock(${SLOTS}, slot) loop slot := slot + 1; end loop;
        return slot;
      end $$`)
  }
  await addCounters(db, counters, 'counts')
}

/**
 * Makes triggers that keep counters, and counts what is there.
 * @param named the end of the names of their functions on PostgreSQL
 */
export async function addCounters(db: Knex, added: Counter[], named: string): Promise<void> {
  await (isPostgres(db) ? countOnPostgres(db, added, named) : countOnSqlite(db, added))
  // Behind the triggers: on PostgreSQL they wait for whoever writes, and keep others from it until the end.
  for (const counter of added) await db.raw(`${ADD} ${valuesOf(counted(counter), '0')}`)
}

/** What tells one count from another. What does not apply, or is null, is empty or zero. */
export const KEY = ['workspace_id', 'counter', '"key"', 'hour', 'project_id', 'template_id', 'kind']

/** An hour in milliseconds: scans are counted by the hour. */
export const HOUR_MS = 3_600_000

type Part = 'key' | 'hour' | 'project_id' | 'template_id' | 'kind' | 'last_at'

/** The name of a count, which its rows have. */
export type CounterName =
  | 'passes'
  | 'passes-by-hour'
  | 'google-installs'
  | 'scans'
  | 'scans-by-context'
  | 'scans-by-gate'
  | 'redeemed'
  | 'redeemed-by-context'
  | 'notifications'

/** What is counted, of which rows, and what tells one count from another. */
export interface Counter {
  name: CounterName
  table: string
  /** Columns that an update may change and that make a difference. */
  watched: string[]
  /** Each part of the key in SQL, and the time of which the latest is kept, of a row of the table. */
  parts: (row: string) => Partial<Record<Part, string>>
  /** Which rows count; all where it is left out. */
  isCounted?: (row: string) => string
  /** Holds for projects that are there, and says nothing about others. */
  isOfProjects?: true
  /** Counts passes, each once: a row counts where no other one is of the same pass in these columns. */
  distinctIn?: string[]
}

/** A project or template, or what stands for none, in SQL. */
export const orNone = (id: string) => `coalesce(cast(${id} as text), '')`

/** The hour that a moment is in, also before 1970. */
export const hourOf = (at: string) => `(${at} - ((${at} % ${HOUR_MS}) + ${HOUR_MS}) % ${HOUR_MS}) / ${HOUR_MS}`

/** What tells counts of a row with a project and a template apart. */
export const projectAndTemplate = (row: string) => ({
  project_id: orNone(`${row}.project_id`),
  template_id: orNone(`${row}.template_id`),
})

/** What a scan came to: its result and reason. */
export const decision = (row: string) => `${row}.result || '/' || coalesce(${row}.reason, '')`

/** What is counted by triggers, as it was when this step was written. */
export const counters: Counter[] = [
  {
    name: 'passes',
    table: 'passes',
    watched: ['status', 'project_id'],
    parts: (row) => ({ ...projectAndTemplate(row), kind: `${row}.status` }),
  },
  {
    name: 'passes-by-hour',
    table: 'passes',
    watched: ['project_id'],
    parts: (row) => ({ project_id: orNone(`${row}.project_id`), hour: hourOf(`${row}.created_at`) }),
  },
  {
    // Passes leave a project only when it is gone, and with it whoever asks for this.
    name: 'google-installs',
    table: 'google_objects',
    watched: ['installed_at'],
    parts: (row) => ({ project_id: orNone(`(select project_id from passes where passes.id = ${row}.pass_id)`) }),
    isCounted: (row) => `${row}.installed_at is not null`,
    isOfProjects: true,
  },
  {
    name: 'scans',
    table: 'scans',
    watched: [],
    parts: (row) => ({ ...projectAndTemplate(row), kind: decision(row), last_at: `${row}.scanned_at` }),
  },
  {
    name: 'scans-by-context',
    table: 'scans',
    watched: [],
    parts: (row) => ({
      ...projectAndTemplate(row),
      kind: decision(row),
      key: `${row}.scan_context_key`,
      last_at: `${row}.scanned_at`,
    }),
    isCounted: (row) => `${row}.scan_context_key is not null`,
  },
  {
    name: 'redeemed',
    table: 'accepted_scans',
    watched: [],
    parts: projectAndTemplate,
    distinctIn: ['project_id', 'template_id'],
  },
  {
    name: 'redeemed-by-context',
    table: 'accepted_scans',
    watched: [],
    parts: (row) => ({ ...projectAndTemplate(row), key: `${row}.scan_context_key` }),
    isCounted: (row) => `${row}.scan_context_key <> ''`,
    distinctIn: ['project_id', 'template_id', 'scan_context_key'],
  },
  {
    name: 'notifications',
    table: 'notifications',
    watched: ['apple_status', 'google_status'],
    parts: (row) => ({
      key: `cast(${row}.broadcast_id as text)`,
      kind: `${row}.apple_status || '/' || ${row}.google_status`,
    }),
    isCounted: (row) => `${row}.broadcast_id is not null`,
  },
]

const ADD = `insert into counts (${KEY.join(', ')}, slot, n, last_at)`

/** The columns of a row behind its workspace, but for its slot and what is counted. */
function keyOf({ name, parts }: Counter, row: string): string[] {
  const { key = `''`, hour = '0', project_id = `''`, template_id = `''`, kind = `''` } = parts(row)
  return [`${row}.workspace_id`, `'${name}'`, key, hour, project_id, template_id, kind]
}

/** What stands in the table of a counter, counted from the beginning. */
export function counted(counter: Counter): string {
  return countRows(counter, counter.table, conditionOf(counter, 'one'))
}

function conditionOf({ isCounted }: Counter, row: string): string {
  return isCounted?.(row) ?? 'true'
}

function namedKey(counter: Counter, row: string): string {
  return keyOf(counter, row)
    .map((part, n) => `${part} as ${KEY[n]}`)
    .join(', ')
}

function countRows(counter: Counter, rows: string, where: string, sign = ''): string {
  const n = counter.distinctIn ? 'count(distinct one.pass_id)' : 'count(*)'
  const { last_at } = counter.parts('one')
  const last = last_at ? `max(${last_at})` : 'cast(null as bigint)'
  return `select ${namedKey(counter, 'one')}, ${sign}${n} as n, ${last} as last_at from ${rows} one where ${where}
    group by 1, 2, 3, 4, 5, 6, 7`
}

function valuesOf(rows: string, slot: string): string {
  return `select ${KEY.join(', ')}, ${slot}, n, last_at from (${rows}) added where true`
}

/** Whether a row counts, and no other is of the same pass but for those that are being written. */
function conditionOfChange(counter: Counter, row: string, same: string, isOther: string): string {
  const { table, distinctIn } = counter
  if (!distinctIn) return conditionOf(counter, row)
  const columns = ['workspace_id', 'pass_id', ...distinctIn]
  // An index is of no use to a comparison that may hold for null.
  const conditions = columns.map((column) => `other.${column} ${isNullable(column) ? same : '='} ${row}.${column}`)
  // Of a subselect with one value no planner makes a join: a plan from when there were few rows would read all of them.
  return `${conditionOf(counter, row)}
    and (select 1 from ${table} other where ${conditions.join(' and ')} and ${isOther} limit 1) is null`
}

const isNullable = (column: string) => column === 'project_id' || column === 'template_id'

const merge = (latest: string) => `on conflict (${KEY.join(', ')}, slot)
  do update set n = counts.n + excluded.n, last_at = ${latest}`

async function countOnPostgres(db: Knex, added: Counter[], named: string): Promise<void> {
  for (const table of new Set(added.map((counter) => counter.table))) {
    const ofTable = added.filter((counter) => counter.table === table)
    const changes = (rows: string, sign = '') =>
      ofTable.map((counter) => {
        const isOther = `other.scan_id not in (select scan_id from ${rows})`
        return countRows(counter, rows, conditionOfChange(counter, 'one', 'is not distinct from', isOther), sign)
      })
    const [plus, minus] = [changes('added'), changes('removed', '-')]
    const all = 'for each statement'
    await createTrigger(`${table}_add_${named}`, plus, `after insert on ${table} referencing new table as added ${all}`)
    await createTrigger(
      `${table}_take_${named}`,
      minus,
      `after delete on ${table} referencing old table as removed ${all}`,
    )
    if (ofTable.every(({ watched }) => watched.length === 0)) continue
    const both = `referencing old table as removed new table as added ${all}`
    await createTrigger(`${table}_move_${named}`, [...plus, ...minus], `after update on ${table} ${both}`)
  }

  async function createTrigger(name: string, changes: string[], when: string): Promise<void> {
    const sums = `select ${KEY.join(', ')}, sum(n) as n, max(last_at) as last_at
      from (${changes.join(' union all ')}) changes group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0`
    await db.raw(`create function ${name}() returns trigger language plpgsql set enable_seqscan = off as $$
      begin ${ADD} ${valuesOf(sums, '(select count_slot())')}
        ${merge('greatest(counts.last_at, excluded.last_at)')}; return null; end $$`)
    await db.raw(`create trigger ${name} ${when} execute function ${name}()`)
  }
}

/** The class of the advisory locks that slots are. */
const SLOTS = 7_277_438

async function countOnSqlite(db: Knex, added: Counter[]): Promise<void> {
  const latest = 'max(coalesce(last_at, excluded.last_at), coalesce(excluded.last_at, last_at))'
  const add = (counter: Counter, row: string, n: number) => {
    const isOther = `other.scan_id <> ${row}.scan_id`
    const where = conditionOfChange(counter, row, 'is', isOther)
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
