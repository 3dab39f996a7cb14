import type { Knex } from 'knex'
import { insertRows } from '../db/bulk-rows.ts'
import { findCountSlot, rowsOf, takeTurns } from '../db/dialect.ts'
import { Repository } from '../db/repository.ts'
import { asJson } from '../db/values.ts'

/** The columns that identify a count. A column without a value is empty or zero. */
export const KEY = ['workspace_id', 'counter', '"key"', 'hour', 'project_id', 'template_id', 'kind']

export const HOUR_MS = 3_600_000

/** The maximum length of a gate's name in a counter's key. Longer names are cut, so that the key fits into an index. */
export const GATE_CHARACTERS = 100

type Part = 'key' | 'hour' | 'project_id' | 'template_id' | 'kind' | 'last_at'

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

/** A counter of the rows of a table, per key. Triggers of the database maintain the counts (decisions/0005). */
export interface Counter {
  name: CounterName
  table: string
  /** The columns whose update changes the count. */
  watched: string[]
  /** Returns the SQL for the parts of a row's key, and for the time (`last_at`) whose maximum the counter stores. */
  parts: (row: string) => Partial<Record<Part, string>>
  /** Returns the condition under which a row counts. By default, all rows count. */
  isCounted?: (row: string) => string
  /** Whether checks ignore the counts of deleted projects, because no trigger maintains these counts. */
  isOfProjects?: true
  /**
   * Set if passes are counted instead of rows: a row counts only if no other row of its pass has the same values in
   * these columns.
   */
  distinctIn?: string[]
}

const orNone = (id: string) => `coalesce(cast(${id} as text), '')`

/** Returns the SQL for the hour of a time, counted from 1970. The SQL is also correct for times before 1970. */
export const hourOf = (at: string) => `(${at} - ((${at} % ${HOUR_MS}) + ${HOUR_MS}) % ${HOUR_MS}) / ${HOUR_MS}`

/** Returns the SQL for the gate of a row of the ledger; empty if the scan has none. */
export function gateOf(db: Knex, row: string): string {
  return `coalesce(substr(${asJson(db, `${row}.context`)} ->> 'gate', 1, ${GATE_CHARACTERS}), '')`
}

const projectAndTemplate = (row: string) => ({
  project_id: orNone(`${row}.project_id`),
  template_id: orNone(`${row}.template_id`),
})

const decision = (row: string) => `${row}.result || '/' || coalesce(${row}.reason, '')`

/** All counters, except the counter of scans by gate (see `gateCounter`). */
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

/**
 * Returns the SQL for the result and the reason of a scan, for the counts by gate. Exits from zones, and reversals of
 * exits, have `exit` as their reason, because an exit is not an admission.
 */
const decisionAtGate = (row: string) =>
  `case when ${row}.direction = 'out' and ${row}.result <> 'denied' then ${row}.result || '/exit' else ${decision(row)} end`

/** Returns the counter of scans by gate. It watches the context, because an erasure removes a scan's gate. */
export function gateCounter(db: Knex): Counter {
  return {
    name: 'scans-by-gate',
    table: 'scans',
    watched: ['context'],
    parts: (row) => ({ ...projectAndTemplate(row), kind: decisionAtGate(row), key: gateOf(db, row) }),
  }
}

/** Returns the values of the columns `KEY` for a row, as SQL. */
export function keyOf({ name, parts }: Counter, row: string): string[] {
  const { key = `''`, hour = '0', project_id = `''`, template_id = `''`, kind = `''` } = parts(row)
  return [`${row}.workspace_id`, `'${name}'`, key, hour, project_id, template_id, kind]
}

export function conditionOf({ isCounted }: Counter, row: string): string {
  return isCounted?.(row) ?? 'true'
}

/** Returns a select that counts rows per key of the counter. */
export function countRows(counter: Counter, rows: string, where: string, sign = ''): string {
  const named = keyOf(counter, 'one').map((part, index) => `${part} as ${KEY[index]}`)
  const n = counter.distinctIn ? 'count(distinct one.pass_id)' : 'count(*)'
  const { last_at } = counter.parts('one')
  const last = last_at ? `max(${last_at})` : 'cast(null as bigint)'
  return `select ${named.join(', ')}, ${sign}${n} as n, ${last} as last_at from ${rows} one where ${where}
    group by 1, 2, 3, 4, 5, 6, 7`
}

/** Returns a select that computes the correct value of a counter from its rows. */
function countAll(counter: Counter): string {
  return countRows(counter, counter.table, conditionOf(counter, 'one'))
}

/** Returns the rows of a counter in a workspace. Sum their `n`. See `KEY` for their columns. */
export function countsOf(db: Knex, workspaceId: string, counter: CounterName): Knex.QueryBuilder {
  return db('counts').where({ 'counts.workspace_id': workspaceId, 'counts.counter': counter })
}

/** The key under which rows without a project or template are counted. */
export const COUNTED_AS_NONE = ''

export interface CountDifference {
  workspaceId: string
  counter: string
  /** The key of the count as text: scan context or broadcast, hour, project, template, and status or result. */
  part: string
  counted: number
  expected: number
}

interface Row {
  workspace_id: string
  counter: string
  key: string
  hour: number
  project_id: string
  template_id: string
  kind: string
  n: number
  last_at: number | null
  expected: number
  expected_last: number | null
}

/** The advisory lock of recounts. Its number differs from the lock of migrations. */
const RECOUNT_LOCK = 7_277_439

export class Counts extends Repository {
  /**
   * Compares every counter with the rows that it counts. One statement reads both, so that writers need not be blocked.
   */
  async listDifferences(): Promise<CountDifference[]> {
    return (await this.compare()).map((row) => ({
      workspaceId: row.workspace_id,
      counter: row.counter,
      part: describe(row),
      counted: row.n,
      expected: row.expected,
    }))
  }

  /** Repairs counters by adding the difference, so that other writers can continue to count. */
  async recount(): Promise<void> {
    // Run one recount at a time. Otherwise, two concurrent recounts would add the difference twice.
    await takeTurns(this.db, RECOUNT_LOCK)
    const slot = await findCountSlot(this.db)
    const differences = await this.compare()
    for (const { n, last_at, expected, expected_last, ...key } of differences) {
      if (last_at === null || (expected_last !== null && last_at <= expected_last)) continue
      await this.db('counts')
        .where({ ...key, last_at })
        .update({ last_at: expected_last })
    }
    const rows = differences.map(({ n, last_at, expected, expected_last, ...key }) => ({
      ...key,
      slot,
      n: expected - n,
      last_at: expected_last,
    }))
    const merge = `on conflict (${KEY.join(', ')}, slot) do update set n = counts.n + excluded.n,
      last_at = coalesce(excluded.last_at, counts.last_at)`
    await insertRows(this.db, 'counts', rows, merge)
  }

  private async compare(): Promise<Row[]> {
    const all: Row[] = []
    for (const counter of [...counters, gateCounter(this.db)]) {
      const key = KEY.join(', ')
      const sql = `select ${key}, sum(n) as n, max(last_at) as last_at, sum(expected) as expected,
          max(expected_last) as expected_last
        from (select ${key}, n, last_at, 0 as expected, cast(null as bigint) as expected_last
            from counts where counter = '${counter.name}'
          union all select ${key}, 0, null, n, last_at from (${countAll(counter)}) expected) both_of_them
        ${counter.isOfProjects ? 'where project_id in (select cast(id as text) from projects)' : ''}
        group by ${key}
        having sum(n) <> sum(expected) or coalesce(max(last_at), 0) <> coalesce(max(expected_last), 0)
        order by ${key}`
      all.push(...rowsOf<Row>(this.db, await this.db.raw(sql)))
    }
    return all
  }
}

function describe({ key, hour, project_id, template_id, kind }: Row): string {
  const parts = { key, hour: hour || '', project: project_id, template: template_id, kind }
  return Object.entries(parts)
    .flatMap(([name, value]) => (value === '' ? [] : [`${name} ${value}`]))
    .join(', ')
}
