import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'
import { addCounters, type Counter, decision, projectAndTemplate } from './0030-counts.ts'

/** So many characters of a gate tell it from others: a count must fit into an index. */
export const GATE_CHARACTERS = 100

/** The gate of a row of the ledger, in SQL; '' where it has none. */
export function gateOf(db: Knex, row: string): string {
  const gate = isPostgres(db) ? `cast(${row}.context as json) ->> 'gate'` : `json_extract(${row}.context, '$.gate')`
  return `coalesce(substr(${gate}, 1, ${GATE_CHARACTERS}), '')`
}

/** What is counted by gate, as it was when this step was written. */
export function gateCounter(db: Knex): Counter {
  return {
    name: 'scans-by-gate',
    table: 'scans',
    // An erasure removes what scans say of themselves, and so the gate: they count as those that never had one.
    watched: ['context'],
    parts: (row) => ({ ...projectAndTemplate(row), kind: decision(row), key: gateOf(db, row) }),
  }
}

/** Scans by the gate that they were made at, counted as they are written (decisions/0061). */
export async function up(db: Knex): Promise<void> {
  await addCounters(db, [gateCounter(db)], 'gate_counts')
}
