import type { Knex } from 'knex'
import { isPostgres } from '../../db/dialect.ts'

/** Column types that differ between the databases. Times are milliseconds since 1970, as bigint. */
export interface ColumnTypes {
  /** Text that sorts by code point. */
  sortedText: string
  bytes: string
  /** A position in the order of commits: the number of a transaction on PostgreSQL, a count on SQLite. */
  position: string
}

/** Returns the column types of this database. */
export function columnTypes(db: Knex): ColumnTypes {
  return isPostgres(db)
    ? { sortedText: 'text collate "C"', bytes: 'bytea', position: 'xid8' }
    : { sortedText: 'text', bytes: 'blob', position: 'bigint' }
}

/**
 * Sets storage parameters of a table on PostgreSQL.
 * @param settings such as `fillfactor = 70`
 */
export async function setStorage(db: Knex, table: string, settings: string): Promise<void> {
  if (isPostgres(db)) await db.raw(`alter table ${table} set (${settings})`)
}

/** Vacuums a queue after a hundredth of its rows has changed: until then, a search for work reads dead rows. */
export const QUEUE_VACUUM =
  'autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_limit = 2000'
