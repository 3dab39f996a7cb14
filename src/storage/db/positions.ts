import type { Knex } from 'knex'
import { NIL_UUID } from '../../core/uuid.ts'
import { isPostgres } from './dialect.ts'

/**
 * Positions, by which readers find the rows that were committed after an earlier read. A position is the number of a
 * transaction on PostgreSQL, and a count on SQLite, whose writers take turns.
 */

/** The place of an event among the events of its workspace. Only the database compares positions. */
export interface Place {
  position: string | number
  id: string
}

export const PLACE_BEFORE_ALL: Place = { position: 0, id: NIL_UUID }

/** Returns the condition that an event comes after the place that is bound as `:position` and `:id`. */
export function afterPlace(db: Knex): string {
  return isPostgres(db)
    ? '(position, id) > (cast(cast(:position as text) as xid8), cast(:id as uuid))'
    : '(position, id) > (cast(:position as integer), :id)'
}

/**
 * Returns the condition that no running transaction can still add a row at or before the position in the column. The
 * condition is always true on SQLite, whose writers take turns.
 */
export function isSettled(db: Knex, column: string): string {
  return isPostgres(db) ? `${column} < pg_snapshot_xmin(pg_current_snapshot())` : 'true'
}

/**
 * Returns the current range of change positions, as SQL. Changes before `from` are committed, and visible to every
 * later read. Changes that are visible now are before `to`. Positions between `from` and `to` can belong to running
 * transactions. `seen` is the snapshot that shows which of these changes are visible; null on SQLite.
 * @param last a query for the last assigned position, for SQLite
 */
export function positionsNow(db: Knex, last: string): { from: string; to: string; seen: string } {
  if (!isPostgres(db)) return { from: `1 + coalesce((${last}), 0)`, to: `1 + coalesce((${last}), 0)`, seen: 'null' }
  const now = 'pg_current_snapshot()'
  return { from: `pg_snapshot_xmin(${now})`, to: `pg_snapshot_xmax(${now})`, seen: now }
}

/** Excludes rows whose changes were visible in the snapshot `seen`. On SQLite, excludes none: positions suffice. */
export function whereUnseen(query: Knex.QueryBuilder, column: string, seen: string | null): Knex.QueryBuilder {
  if (seen === null) return query
  return query.whereRaw(`not pg_visible_in_snapshot(${column}, cast(? as pg_snapshot))`, [seen])
}

/** Selects rows whose changes were visible in the earlier snapshot `seen`. Selects none if `seen` is null. */
export function whereSeen(query: Knex.QueryBuilder, column: string, seen: string | null): Knex.QueryBuilder {
  if (seen === null) return query.whereRaw('1 = 0')
  return query.whereRaw(`pg_visible_in_snapshot(${column}, cast(? as pg_snapshot))`, [seen])
}

/** Returns the SQL value of a position that an earlier query returned. */
export function positionOf(db: Knex, position: string | number): Knex.Raw {
  return db.raw(isPostgres(db) ? 'cast(cast(? as text) as xid8)' : 'cast(? as integer)', [position])
}

/**
 * Adjusts positions after a restore. On PostgreSQL, a dump that is restored into another server can contain transaction
 * numbers that this server has not reached. Moves events with such numbers before all others, in the order of their
 * IDs. Clears such numbers in passes and templates. Deletes door snapshots that end at such a number, so that doors
 * download complete snapshots.
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
