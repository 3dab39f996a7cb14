import type { Knex } from 'knex'
import { insertRows } from '../db/bulk-rows.ts'
import { findCountSlot, rowsOf, takeTurns } from '../db/dialect.ts'
import { Repository } from '../db/repository.ts'
import { type CounterName, countAll, counters, gateCounter, KEY } from './counters.ts'

/** Returns the rows of a counter in a workspace. Sum their `n`. See counters.ts for their columns. */
export function countsOf(db: Knex, workspaceId: string, counter: CounterName): Knex.QueryBuilder {
  return db('counts').where({ 'counts.workspace_id': workspaceId, 'counts.counter': counter })
}

/** The key under which rows without a project or template are counted. */
export const COUNTED_AS_NONE = ''

/** A counter that differs from its rows. */
export interface CountDifference {
  workspaceId: string
  counter: string
  /** The key: scan context or broadcast, hour, project, template, and status or result. */
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

/** The advisory lock of recounts, different from that of migrations. */
const RECOUNT_LOCK = 7_277_439

/** The counters that triggers maintain, with a check and a repair. */
export class Counts extends Repository {
  /** Compares every counter with its rows. Other writers are not blocked: each counter and its rows are read in one statement. */
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
    // Two concurrent runs would add the difference twice.
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
    return all.map((row) => ({ ...row, n: Number(row.n), expected: Number(row.expected) }))
  }
}

function describe({ key, hour, project_id, template_id, kind }: Row): string {
  const parts = { key, hour: hour || '', project: project_id, template: template_id, kind }
  return Object.entries(parts)
    .flatMap(([name, value]) => (value === '' ? [] : [`${name} ${value}`]))
    .join(', ')
}
