import knex, { type Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { MAX_KEY_BYTES, MAX_KEY_CHARACTERS } from '../../core/rules/lists/cursor.ts'
import { NIL_UUID } from '../../core/uuid.ts'

/** The differences between SQLite and PostgreSQL that affect queries. */

/** The sort key of passes that never expire. */
export const NEVER = Number.MAX_SAFE_INTEGER

export function isPostgres(db: Knex): boolean {
  return db.client.dialect === 'postgresql'
}

/**
 * Locks the rows of a select until the transaction ends; of a query with joins, the rows of the given tables. On SQLite, the
 * transaction itself is the lock.
 */
export function forUpdate<Q extends Knex.QueryBuilder>(db: Knex, query: Q, ...tables: string[]): Q {
  return (isPostgres(db) ? query.forUpdate(...tables) : query) as Q
}

/** Prevents changes to the rows of a select until the transaction ends. Other transactions can do the same concurrently. */
export function forShare<Q extends Knex.QueryBuilder>(db: Knex, query: Q): Q {
  return (isPostgres(db) ? query.forShare() : query) as Q
}

/** Like `forUpdate`, but skips rows that another transaction has locked. */
export function forUpdateSkipLocked<Q extends Knex.QueryBuilder>(db: Knex, query: Q, ...tables: string[]): Q {
  return (isPostgres(db) ? query.forUpdate(...tables).skipLocked() : query) as Q
}

/**
 * Returns a column for range conditions that must not choose the index. SQLite has no statistics on the distribution of values,
 * so it would read and sort all rows in the range. PostgreSQL has statistics and decides for itself.
 */
export function boundColumn(db: Knex, column: string): string {
  return isPostgres(db) ? column : `+${column}`
}

/**
 * Returns the rows of passes in a table whose primary key is the workspace followed by another column. Without statistics, SQLite
 * would read all rows of the workspace. This forces the index on passes.
 */
export function rowsOfPasses(
  db: Knex,
  table: 'pass_identifiers' | 'pass_variables' | 'pass_windows',
  workspaceId: string,
  passIds: string[],
): Knex.QueryBuilder {
  return db(table)
    .whereRaw(`${boundColumn(db, 'workspace_id')} = ?`, [workspaceId])
    .whereIn('pass_id', passIds)
}

/**
 * Joins passes to a query that returns their IDs, and reads them one by one in its order. If a planner overestimates the number
 * of IDs, it would otherwise scan all passes.
 */
export function joinPasses(db: Knex, query: Knex.QueryBuilder, id: string): Knex.QueryBuilder {
  if (!isPostgres(db)) return query.joinRaw('cross join passes').whereRaw(`passes.id = ${id}`)
  // `offset 0` keeps the planner from inlining the subselect.
  return query.joinRaw(`cross join lateral (select * from passes where passes.id = ${id} offset 0) as passes`)
}

/**
 * Returns the SQL of `beginningOf` a text, by which lists sort names and labels. SQLite can compare pairs with an index only on
 * columns, so there it is a generated column.
 */
export function beginningColumn(db: Knex, column: string): string {
  if (!isPostgres(db)) return `${column}_beginning`
  const isWhole = `octet_length(${column}) <= ${MAX_KEY_BYTES}`
  return `(case when ${isWhole} then ${column} else substr(${column}, 1, ${MAX_KEY_CHARACTERS}) end)`
}

/** Returns the rows in the result of a raw statement. */
export function rowsOf<Row>(db: Knex, result: unknown): Row[] {
  return (isPostgres(db) ? (result as { rows: Row[] }).rows : result) as Row[]
}

/** The minimum length of a term for the trigram index. Shorter terms scan the rows that match the other filters. */
const MIN_INDEXED_TERM = 3

/** A case-folded column of passes with a trigram index. */
export type FoldedColumn = 'label_folded' | 'external_folded'

/** Returns the condition on `passes` that one of the columns contains the case-folded term. Uses the trigram index. */
export function containsTerm(db: Knex, columns: readonly FoldedColumn[], term: string): Knex.Raw {
  if (isPostgres(db)) {
    const pattern = `%${term.replaceAll(/[\\%_]/g, '\\$&')}%`
    return db.raw(
      anyOf(columns, (column) => `passes.${column} like ?`),
      columns.map(() => pattern),
    )
  }
  if ([...term].length < MIN_INDEXED_TERM) {
    return db.raw(
      anyOf(columns, (column) => `instr(passes.${column}, ?) > 0`),
      columns.map(() => term),
    )
  }
  const phrase = `{${columns.join(' ')}} : "${term.replaceAll('"', '""')}"`
  return db.raw('passes.row_number in (select rowid from pass_search where pass_search match ?)', [phrase])
}

function anyOf(columns: readonly string[], condition: (column: string) => string): string {
  return `(${columns.map(condition).join(' or ')})`
}

/**
 * Returns the condition that a column is among the selected IDs. PostgreSQL can run a locking subselect after `in` more than
 * once, and plans it as a scan. As an array, it runs once.
 */
export function isChosen(db: Knex, column: string, chosen: Knex.QueryBuilder): Knex.Raw {
  return db.raw(isPostgres(db) ? '?? = any(array(?))' : '?? in (?)', [column, chosen as never])
}

/** Like `isChosen`, for the ID of a row. */
export function idIsChosen(db: Knex, chosen: Knex.QueryBuilder): Knex.Raw {
  return isChosen(db, 'id', chosen)
}

/**
 * Returns the condition that a column is among the IDs of a named value, which `bindIds` binds. Uses the index of the column, for
 * any number of IDs.
 */
export function isAmong(db: Knex, column: string, ids: string, type: 'uuid' | 'text' = 'uuid'): string {
  return isPostgres(db) ? `${column} = any(:${ids}::${type}[])` : `${column} in (select value from json_each(:${ids}))`
}

/** Binds a list of IDs as one value for `isAmong`: an array on PostgreSQL, JSON on SQLite. */
export function bindIds(db: Knex, ids: string[]): Knex.Value {
  return (isPostgres(db) ? ids : JSON.stringify(ids)) as Knex.Value
}

/** Decodes hexadecimal text into bytes. */
export function bytesOfHex(db: Knex, column: string): string {
  return isPostgres(db) ? `decode(${column}, 'hex')` : `unhex(${column})`
}

/** Returns the texts of a column that is a JSON array, as a subselect. */
export function textsOfJson(db: Knex, column: string): string {
  return isPostgres(db) ? `select json_array_elements_text(${column}::json)` : `select value from json_each(${column})`
}

/** Returns the JSON text of a key of the object in a column; null if it has no such key. */
export function keyOfJson(db: Knex, column: string, key: string): string {
  return isPostgres(db) ? `(${column}::json -> '${key}')::text` : `${column} -> '${key}'`
}

/** Returns one column of a query as a JSON array, in order, as a value of another row. `parseList` reads it. */
export function listOf(db: Knex, column: string, query: string): string {
  return isPostgres(db)
    ? `array_to_json(array(${query}))`
    : `(select json_group_array(${column}) from (${query}) as listed)`
}

/** Parses a list of either database. */
export function parseList(value: string | string[]): string[] {
  return typeof value === 'string' ? JSON.parse(value) : value
}

/**
 * Deletes the rows that the query selects and returns their IDs. knex supports `returning` after a delete only for PostgreSQL.
 */
export async function deleteReturningIds(db: Knex, query: Knex.QueryBuilder): Promise<string[]> {
  const { sql, bindings } = query.delete().toSQL()
  const result = await db.raw(`${sql} returning id`, bindings as Knex.RawBinding[])
  const rows: { id: string }[] = isPostgres(db) ? result.rows : result
  return rows.map((row) => row.id)
}

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

/** Returns a value as a selected column. PostgreSQL would treat an untyped value as text, and SQLite has no such types. */
export function constant(
  db: Knex,
  type: 'uuid' | 'text' | 'integer' | 'bigint',
  value: string | number | null,
): Knex.Raw {
  return isPostgres(db) ? db.raw(`cast(? as ${type})`, [value]) : db.raw('?', [value])
}

/** Returns a version 7 UUID for each row of a select, as `newId` creates them. Within a millisecond, their order is random. */
export function idsMadeAt(db: Knex, at: Date): Knex.Raw {
  const time = idBound(at.getTime()).slice(0, 13)
  // The part after the version of a random version 4 UUID: its variant and 74 random bits.
  if (isPostgres(db)) return db.raw('cast(? || substr(cast(gen_random_uuid() as text), 16) as uuid)', [`${time}-7`])
  return db.raw(
    `? || substr(lower(hex(randomblob(2))), 2) || '-' || substr('89ab', 1 + (random() & 3), 1)
      || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))`,
    [`${time}-7`],
  )
}

/** Inserts a row for each row that the query finds, without reading them, and returns the number of rows. */
export async function insertSelected(
  db: Knex,
  table: string,
  columns: Record<string, string | Knex.Raw>,
  query: Knex.QueryBuilder,
): Promise<number> {
  const values = Object.values(columns).map((column) => (typeof column === 'string' ? db.ref(column) : column))
  const { sql, bindings } = query.select(values).toSQL()
  const names = Object.keys(columns)
  const into = `insert into ?? (${names.map(() => '??').join(', ')})`
  const result = await db.raw(`${into} ${sql}`, [table, ...names, ...(bindings as Knex.RawBinding[])])
  if (isPostgres(db)) return result.rowCount
  const [{ n }] = await db.raw('select changes() as n')
  return n
}

/** Why the database cannot serve a request. */
export type Unavailability = 'full' | 'readOnly' | 'damaged' | 'failing' | 'locked' | 'unreachable' | 'slow' | 'busy'

const unavailabilities: Record<Unavailability, readonly string[]> = {
  full: ['SQLITE_FULL', '53100'],
  // PostgreSQL after a failover.
  readOnly: ['SQLITE_READONLY', '25006'],
  damaged: ['SQLITE_CORRUPT', 'SQLITE_NOTADB'],
  failing: ['SQLITE_IOERR', '58030'],
  locked: ['SQLITE_BUSY', 'SQLITE_LOCKED', '55P03'],
  unreachable: [
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN'],
    // Shutting down, starting up, and broken connections.
    ...['57P01', '57P02', '57P03', '08000', '08003', '08006'],
  ],
  slow: ['SQLITE_INTERRUPT', '57014'],
  // Too many connections, idle in a transaction for too long, a serialization failure, a deadlock.
  busy: ['53300', '25P03', '40001', '40P01'],
}

const byCode = new Map(
  Object.entries(unavailabilities).flatMap(([why, codes]) => codes.map((code) => [code, why as Unavailability])),
)

/** Whether a statement exceeded its time limit (see `Database.forRequests`). */
export function isTooSlow(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return unavailabilities.slow.includes(code as string)
}

/** Whether a pooler closed the connection. PgBouncer uses this code for all of its errors, such as a server that is down. */
export function isPoolerError(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return code === '08P01' && severity === 'FATAL'
}

/** Whether a unique index rejected a row. On SQLite, the code is the same for all constraints. */
export function isTaken(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'SQLITE_CONSTRAINT' || code === '23505'
}

/** Whether the database is temporarily unavailable, so that the same request can succeed later. */
export function isUnavailable(error: unknown): boolean {
  return findUnavailability(error) !== undefined
}

/** Returns why the database could not serve; `undefined` for an error that is not the database's. */
export function findUnavailability(error: unknown): Unavailability | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof knex.KnexTimeoutError) return 'busy'
  const { code } = error as { code?: unknown }
  if (isPoolerError(error)) return 'unreachable'
  return byCode.get(code as string) ?? findUnavailability(error.cause)
}

export function toDate(value: number | null): Date | null {
  return value === null ? null : new Date(value)
}
