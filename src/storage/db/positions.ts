import type { Knex } from 'knex'
import { NIL_UUID } from '../../core/uuid.ts'
import { isPostgres } from './dialect.ts'

/** Positions in the order of commits: numbers of transactions on PostgreSQL, counts on SQLite, whose writers take turns. */

/** The place of an event among the events of its workspace. Both databases compare positions themselves. */
export interface Place {
  position: string | number
  id: string
}

export const PLACE_BEFORE_ALL: Place = { position: 0, id: NIL_UUID }

/** Returns the condition that an event is after the place of `:position` and `:id`. */
export function afterPlace(db: Knex): string {
  return isPostgres(db)
    ? '(position, id) > (cast(cast(:position as text) as xid8), cast(:id as uuid))'
    : '(position, id) > (cast(:position as integer), :id)'
}

/**
 * Returns the condition that no running transaction can still add a row before this position. Always true on SQLite, whose
 * writers take turns.
 */
export function isSettled(db: Knex, column: string): string {
  return isPostgres(db) ? `${column} < pg_snapshot_xmin(pg_current_snapshot())` : 'true'
}

/**
 * Returns the range of change positions now, as SQL. Changes before `from` are committed and visible to every later read. Changes
 * that are visible now are before `to`. Between them are running transactions.
 * @param last the last assigned position, for a database whose writers take turns
 */
export function positionsNow(db: Knex, last: string): { from: string; to: string; seen: string } {
  if (!isPostgres(db)) return { from: `1 + coalesce((${last}), 0)`, to: `1 + coalesce((${last}), 0)`, seen: 'null' }
  const now = 'pg_current_snapshot()'
  return { from: `pg_snapshot_xmin(${now})`, to: `pg_snapshot_xmax(${now})`, seen: now }
}

/** Excludes rows that were visible in an earlier snapshot, although older transactions were still running then. */
export function whereUnseen(query: Knex.QueryBuilder, column: string, seen: string | null): Knex.QueryBuilder {
  if (seen === null) return query
  return query.whereRaw(`not pg_visible_in_snapshot(${column}, cast(? as pg_snapshot))`, [seen])
}

/** Selects the rows that were visible in that snapshot; none if positions alone decide. */
export function whereSeen(query: Knex.QueryBuilder, column: string, seen: string | null): Knex.QueryBuilder {
  if (seen === null) return query.whereRaw('1 = 0')
  return query.whereRaw(`pg_visible_in_snapshot(${column}, cast(? as pg_snapshot))`, [seen])
}

/** Returns an earlier position as a value of a statement. */
export function positionOf(db: Knex, position: string | number): Knex.Raw {
  return db.raw(isPostgres(db) ? 'cast(cast(? as text) as xid8)' : 'cast(? as integer)', [position])
}

/**
 * Adjusts positions after a restore. On PostgreSQL, positions are transaction numbers. A dump that is restored into another
 * server can contain numbers that are still in the future there. Such events are moved before all others, in the order of their
 * IDs, and earlier lists are not continued.
 */
export async function settleRestored(db: Knex): Promise<void> {
  if (!isPostgres(db)) return
  const isToCome = (column: string) => `${column} >= pg_snapshot_xmax(pg_current_snapshot())`
  const settle = (table: string, column: string, value: string) =>
    db.raw(`update ${table} set ${column} = ${value} from workspaces where ${table}.workspace_id = workspaces.id
      and ${isToCome(`${table}.${column}`)}`)
  await settle('events', 'position', `'0'`)
  await settle('passes', 'change_position', 'null')
  await settle('templates', 'name_position', 'null')
  await db.raw(`delete from scanner_snapshots where changed_to > pg_snapshot_xmax(pg_current_snapshot())`)
}
