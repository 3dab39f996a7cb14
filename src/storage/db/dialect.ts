import knex, { type Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { MAX_KEY_BYTES, MAX_KEY_CHARACTERS } from '../../core/rules/lists/cursor.ts'
import { NIL_UUID } from '../../core/uuid.ts'

/** Every difference between SQLite and PostgreSQL that queries see stands in this file. */

/** Later than any moment: what a pass that never expires sorts as. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** True on PostgreSQL, false on SQLite. */
export function isPostgres(db: Knex): boolean {
  return db.client.dialect === 'postgresql'
}

/**
 * Locks the rows of a select until the transaction ends; of a query with joins, those of one table. On SQLite the
 * transaction itself is the lock.
 */
export function forUpdate<Q extends Knex.QueryBuilder>(db: Knex, query: Q, ...tables: string[]): Q {
  return (isPostgres(db) ? query.forUpdate(...tables) : query) as Q
}

/** Keeps the rows of a select as they are until the transaction ends; others may do the same at once. */
export function forShare<Q extends Knex.QueryBuilder>(db: Knex, query: Q): Q {
  return (isPostgres(db) ? query.forShare() : query) as Q
}

/** As forUpdate, passing over rows that another worker holds. */
export function forUpdateSkipLocked<Q extends Knex.QueryBuilder>(db: Knex, query: Q, ...tables: string[]): Q {
  return (isPostgres(db) ? query.forUpdate(...tables).skipLocked() : query) as Q
}

/**
 * A column for bounds that filter and never lead the way: SQLite, which knows no distribution of values, would read and
 * sort all rows within them. PostgreSQL knows, and decides for itself.
 */
export function boundColumn(db: Knex, column: string): string {
  return isPostgres(db) ? column : `+${column}`
}

/**
 * The rows of passes in a table whose primary key begins with the workspace and goes on with something else: SQLite, which knows
 * no distribution of values, would read all that the workspace has there. It goes along the index of passes.
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
 * Joins passes to a query that names their ids, read one by one in its order. Left to choose, a planner that misjudges how
 * many it names walks all passes instead.
 */
export function joinPasses(db: Knex, query: Knex.QueryBuilder, id: string): Knex.QueryBuilder {
  if (!isPostgres(db)) return query.joinRaw('cross join passes').whereRaw(`passes.id = ${id}`)
  // offset 0 keeps the inner query as it stands.
  return query.joinRaw(`cross join lateral (select * from passes where passes.id = ${id} offset 0) as passes`)
}

/**
 * What `beginningOf` makes of a text, as lists by names and labels sort by it. SQLite compares pairs along an index of
 * columns only, so there it is a column, made from the other.
 */
export function beginningColumn(db: Knex, column: string): string {
  if (!isPostgres(db)) return `${column}_beginning`
  const isWhole = `octet_length(${column}) <= ${MAX_KEY_BYTES}`
  return `(case when ${isWhole} then ${column} else substr(${column}, 1, ${MAX_KEY_CHARACTERS}) end)`
}

/** What a raw statement of each database answers. */
export function rowsOf<Row>(db: Knex, result: unknown): Row[] {
  return (isPostgres(db) ? (result as { rows: Row[] }).rows : result) as Row[]
}

/** Shorter terms have no trigram: they are answered by a scan of what other filters leave. */
const MIN_INDEXED_TERM = 3

/** A column of passes whose text is case-folded and indexed by trigrams. */
export type FoldedColumn = 'label_folded' | 'external_folded'

/** A condition on `passes`: one of the columns holds the case-folded term. Answered from the trigram index. */
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
 * The condition that a column is among the chosen ids. PostgreSQL may run a locking subselect after `in` more than once,
 * and plans it as a scan; as an array it is run once.
 */
export function isChosen(db: Knex, column: string, chosen: Knex.QueryBuilder): Knex.Raw {
  return db.raw(isPostgres(db) ? '?? = any(array(?))' : '?? in (?)', [column, chosen as never])
}

/** The same of the id of a row. */
export function idIsChosen(db: Knex, chosen: Knex.QueryBuilder): Knex.Raw {
  return isChosen(db, 'id', chosen)
}

/** The condition that a column is among the ids of a named value, however many `bindIds` put into it: found by their key. */
export function isAmong(db: Knex, column: string, ids: string, type: 'uuid' | 'text' = 'uuid'): string {
  return isPostgres(db) ? `${column} = any(:${ids}::${type}[])` : `${column} in (select value from json_each(:${ids}))`
}

/** A list of ids as one value of a statement: an array on PostgreSQL, JSON on SQLite. isAmong reads it. */
export function bindIds(db: Knex, ids: string[]): Knex.Value {
  return (isPostgres(db) ? ids : JSON.stringify(ids)) as Knex.Value
}

/** The bytes that a column has as hexadecimal text. */
export function bytesOfHex(db: Knex, column: string): string {
  return isPostgres(db) ? `decode(${column}, 'hex')` : `unhex(${column})`
}

/** The texts of a column that is a JSON array, as a subselect. */
export function textsOfJson(db: Knex, column: string): string {
  return isPostgres(db) ? `select json_array_elements_text(${column}::json)` : `select value from json_each(${column})`
}

/** The JSON text of a key of the object in a column; null where it has no such key. */
export function keyOfJson(db: Knex, column: string, key: string): string {
  return isPostgres(db) ? `(${column}::json -> '${key}')::text` : `${column} -> '${key}'`
}

/** One column of a query as a JSON array, in its order, within a row of another; `parseList` reads it. */
export function listOf(db: Knex, column: string, query: string): string {
  return isPostgres(db)
    ? `array_to_json(array(${query}))`
    : `(select json_group_array(${column}) from (${query}) as listed)`
}

/** A list as either database returns it. */
export function parseList(value: string | string[]): string[] {
  return typeof value === 'string' ? JSON.parse(value) : value
}

/** Deletes what the query selects and returns the ids. knex knows `returning` after a delete for PostgreSQL only. */
export async function deleteReturningIds(db: Knex, query: Knex.QueryBuilder): Promise<string[]> {
  const { sql, bindings } = query.delete().toSQL()
  const result = await db.raw(`${sql} returning id`, bindings as Knex.RawBinding[])
  const rows: { id: string }[] = isPostgres(db) ? result.rows : result
  return rows.map((row) => row.id)
}

/** Where an event stands among those of its workspace; both databases compare positions by themselves. */
export interface Place {
  position: string | number
  id: string
}

/** The place before every event. */
export const PLACE_BEFORE_ALL: Place = { position: 0, id: NIL_UUID }

/** The condition that an event stands after the place of `:position` and `:id`. */
export function afterPlace(db: Knex): string {
  return isPostgres(db)
    ? '(position, id) > (cast(cast(:position as text) as xid8), cast(:id as uuid))'
    : '(position, id) > (cast(:position as integer), :id)'
}

/**
 * The condition that no transaction which still runs can put anything before this position. What SQLite shows is always so:
 * its writers take turns.
 */
export function isSettled(db: Knex, column: string): string {
  return isPostgres(db) ? `${column} < pg_snapshot_xmin(pg_current_snapshot())` : 'true'
}

/**
 * Where changes stand at this moment, as SQL of both ends: what was written before the first is committed and seen by whoever
 * reads later, and what is seen now was written before the second. Between them stand transactions that still run.
 * @param last the last position in use, where writers take turns
 */
export function positionsNow(db: Knex, last: string): { from: string; to: string; seen: string } {
  if (!isPostgres(db)) return { from: `1 + coalesce((${last}), 0)`, to: `1 + coalesce((${last}), 0)`, seen: 'null' }
  const now = 'pg_current_snapshot()'
  return { from: `pg_snapshot_xmin(${now})`, to: `pg_snapshot_xmax(${now})`, seen: now }
}

/** Leaves out what was seen at a moment of before, although transactions that began earlier still ran then. */
export function whereUnseen(query: Knex.QueryBuilder, column: string, seen: string | null): Knex.QueryBuilder {
  if (seen === null) return query
  return query.whereRaw(`not pg_visible_in_snapshot(${column}, cast(? as pg_snapshot))`, [seen])
}

/** The rest: what was seen at that moment. Nothing where each position says so by itself. */
export function whereSeen(query: Knex.QueryBuilder, column: string, seen: string | null): Knex.QueryBuilder {
  if (seen === null) return query.whereRaw('1 = 0')
  return query.whereRaw(`pg_visible_in_snapshot(${column}, cast(? as pg_snapshot))`, [seen])
}

/** A position of before as a value of a statement. */
export function positionOf(db: Knex, position: string | number): Knex.Raw {
  return db.raw(isPostgres(db) ? 'cast(cast(? as text) as xid8)' : 'cast(? as integer)', [position])
}

/**
 * Positions of a PostgreSQL server are numbers of its transactions. A dump that was restored into another one may hold
 * numbers that are still to come there: such events go before all others, in the order of their ids, and no list of before
 * is followed.
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

/** A value among selected columns: PostgreSQL would take it for text, and SQLite knows no such types. */
export function constant(
  db: Knex,
  type: 'uuid' | 'text' | 'integer' | 'bigint',
  value: string | number | null,
): Knex.Raw {
  return isPostgres(db) ? db.raw(`cast(? as ${type})`, [value]) : db.raw('?', [value])
}

/** An id of version 7 for each row of a select, as `newId` makes them; within the millisecond their order is by chance. */
export function idsMadeAt(db: Knex, at: Date): Knex.Raw {
  const time = idBound(at.getTime()).slice(0, 13)
  // What follows the version in a random UUID of version 4: its variant and 74 random bits.
  if (isPostgres(db)) return db.raw('cast(? || substr(cast(gen_random_uuid() as text), 16) as uuid)', [`${time}-7`])
  return db.raw(
    `? || substr(lower(hex(randomblob(2))), 2) || '-' || substr('89ab', 1 + (random() & 3), 1)
      || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))`,
    [`${time}-7`],
  )
}

/** Inserts a row for each that the query finds, without reading any of them, and returns how many. */
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

/** Why the database cannot serve a request at the moment. */
export type Unavailability = 'full' | 'readOnly' | 'damaged' | 'failing' | 'locked' | 'unreachable' | 'slow' | 'busy'

const unavailabilities: Record<Unavailability, readonly string[]> = {
  full: ['SQLITE_FULL', '53100'],
  // PostgreSQL since a failover.
  readOnly: ['SQLITE_READONLY', '25006'],
  damaged: ['SQLITE_CORRUPT', 'SQLITE_NOTADB'],
  failing: ['SQLITE_IOERR', '58030'],
  locked: ['SQLITE_BUSY', 'SQLITE_LOCKED', '55P03'],
  unreachable: [
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN'],
    // Shutting down or starting, and broken connections.
    ...['57P01', '57P02', '57P03', '08000', '08003', '08006'],
  ],
  slow: ['SQLITE_INTERRUPT', '57014'],
  // Too many connections, hung in a transaction, serialization, deadlock.
  busy: ['53300', '25P03', '40001', '40P01'],
}

const byCode = new Map(
  Object.entries(unavailabilities).flatMap(([why, codes]) => codes.map((code) => [code, why as Unavailability])),
)

/** A statement that took longer than it may: see `Database.forRequests`. */
export function isTooSlow(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return unavailabilities.slow.includes(code as string)
}

/** Whether a pooler closed the connection. PgBouncer gives this code to all its reasons, such as a server that is down. */
export function isPoolerError(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return code === '08P01' && severity === 'FATAL'
}

/** True where a unique index refused a row; SQLite does not tell it from its other constraints. */
export function isTaken(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'SQLITE_CONSTRAINT' || code === '23505'
}

/** Whether the database cannot serve at the moment, so that the same request can succeed later. */
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

/** A nullable column of milliseconds as a moment. */
export function toDate(value: number | null): Date | null {
  return value === null ? null : new Date(value)
}
