import type { Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { MAX_KEY_BYTES, MAX_KEY_CHARACTERS } from '../../core/rules/lists/cursor.ts'

/** The differences between SQLite and PostgreSQL that affect queries. */

/** The sort key of passes that never expire. */
export const NEVER = Number.MAX_SAFE_INTEGER

export function isPostgres(db: Knex): boolean {
  return db.client.dialect === 'postgresql'
}

/** One function per database, for statements that have no common form, such as triggers and catalog queries. */
type Ways<T> = Record<'postgres' | 'sqlite', (db: Knex) => T>

/**
 * Calls the function for the dialect of `db`, if `ways` has one. Only migrations and copies call it. Queries use the
 * functions below.
 */
export function inDialect<T>(db: Knex, ways: Ways<T>): T
export function inDialect(db: Knex, ways: Partial<Ways<Promise<unknown>>>): Promise<unknown> | undefined
export function inDialect(db: Knex, ways: Partial<Ways<unknown>>): unknown {
  return ways[isPostgres(db) ? 'postgres' : 'sqlite']?.(db)
}

/** Returns a locking clause for a select. It is empty on SQLite, where a transaction excludes other writers. */
export function rowLock(
  db: Knex,
  clause: 'for share' | 'for no key update' | 'for update' | 'for update skip locked',
): string {
  return isPostgres(db) ? clause : ''
}

/** Runs a select only for its row locks. Does nothing on SQLite. */
export async function lockRows(db: Knex, select: () => Knex.QueryBuilder): Promise<void> {
  if (isPostgres(db)) await select()
}

/** Takes the exclusive lock with this number until the transaction ends. On SQLite, writers take turns anyway. */
export async function takeTurns(db: Knex, number: number): Promise<void> {
  if (isPostgres(db)) await db.raw('select pg_advisory_xact_lock(?)', [number])
}

/** Blocks writes to the tables until the transaction ends. On SQLite, every write transaction blocks other writes. */
export async function lockTables(tx: Knex.Transaction, tables: string[]): Promise<void> {
  if (!isPostgres(tx)) return
  await tx.raw('set local idle_in_transaction_session_timeout = 0')
  await tx.raw(`lock table ${tables.map((name) => `"${name}"`).join(', ')} in share mode`)
}

/**
 * Makes the transaction read tables by their keys. Otherwise, PostgreSQL would sort a whole table for each page,
 * because it has no statistics on tables that were just filled.
 */
export async function readByKeys(tx: Knex.Transaction): Promise<void> {
  if (isPostgres(tx)) await tx.raw('set local enable_seqscan = off; set local enable_sort = off')
}

/**
 * For queries that read a table in chunks: makes joins in the transaction look up joined rows by key, for each row of
 * the chunk. Otherwise, PostgreSQL could read the joined rows of the whole table for each chunk.
 */
export async function joinByKeys(tx: Knex): Promise<void> {
  if (isPostgres(tx))
    await tx.raw("select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)")
}

/** Runs a query with `joinByKeys`, in a new transaction. On SQLite, which needs neither, only runs the query. */
export async function readChunk<T>(db: Knex, read: (db: Knex) => Promise<T>): Promise<T> {
  if (!isPostgres(db)) return read(db)
  return db.transaction(async (tx) => {
    await joinByKeys(tx)
    return read(tx)
  })
}

/**
 * Returns the number of the counter slot in which the transaction counts. No concurrent transaction uses this slot (see
 * `createCounters`). On SQLite, all transactions use slot 0, because they take turns.
 */
export async function findCountSlot(db: Knex): Promise<number> {
  if (!isPostgres(db)) return 0
  const [row] = rowsOf<{ slot: number }>(db, await db.raw('select count_slot() as slot'))
  return row!.slot
}

/** On PostgreSQL, extends the condition to lock the matching rows, and to skip rows that are locked already. */
export function isUnlocked(db: Knex, table: string, condition: string): string {
  return isPostgres(db)
    ? `id = any(array(select id from ${table} where ${condition} for update skip locked))`
    : condition
}

/**
 * Whether the planner knows the distribution of values. If not, as on SQLite, some queries must specify which condition
 * matches few rows.
 */
export function knowsDistribution(db: Knex): boolean {
  return isPostgres(db)
}

/**
 * Returns the SQL of a column for a condition that must not decide which index SQLite uses. Without statistics on the
 * distribution of values, SQLite would use an index on the column, and read and sort all rows that meet the condition.
 * PostgreSQL has such statistics, so it can use any index.
 */
export function boundColumn(db: Knex, column: string): string {
  return isPostgres(db) ? column : `+${column}`
}

/**
 * Selects the rows of passes in a table whose primary key begins with the workspace. Forces SQLite to use the index on
 * `pass_id`. Otherwise, without statistics, SQLite would use the primary key, and read all rows of the workspace.
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
 * Joins passes to a query of pass IDs, and reads the passes one by one, in the order of the query. With a plain join, a
 * planner that overestimates the number of IDs would scan all passes.
 */
export function joinPasses(db: Knex, query: Knex.QueryBuilder, id: string): Knex.QueryBuilder {
  // Without `+`, SQLite can move the upper bound of the ID range from `query` to `passes.id`, and then read `query` far
  // beyond that bound.
  if (!isPostgres(db)) return query.joinRaw('cross join passes').whereRaw(`passes.id = +${id}`)
  // `offset 0` keeps the planner from inlining the subselect, which would allow a scan of all passes.
  return query.joinRaw(`cross join lateral (select * from passes where passes.id = ${id} offset 0) as passes`)
}

/**
 * Runs `work` so that SQLite removes the text of deleted rows from the search index immediately, not at the next merge
 * of the index.
 */
export async function whileSearchForgets(db: Knex, work: () => Promise<void>): Promise<void> {
  if (isPostgres(db)) return work()
  const setSecure = (value: number) =>
    db.raw(`insert into pass_search (pass_search, rank) values ('secure-delete', ?)`, [value])
  await setSecure(1)
  await work()
  await setSecure(0)
}

/**
 * Joins each row to the passes whose IDs the subselect `chosen` returns. With an `in` condition, PostgreSQL would scan
 * all passes.
 */
export function joinChosenPasses(db: Knex, chosen: string): string {
  return isPostgres(db)
    ? `cross join lateral (${chosen}) as chosen join passes on passes.id = chosen.id`
    : `join passes on passes.id in (${chosen})`
}

/**
 * Joins each row to the rows of a table that meet a condition. On PostgreSQL, `offset 0` prevents a hash join, which
 * would read the whole table if the plan was made while the table was empty.
 */
export function joinEach(db: Knex, table: string, condition: string): string {
  return isPostgres(db)
    ? `cross join lateral (select * from ${table} where ${condition} offset 0) as ${table}`
    : `cross join ${table} on ${condition}`
}

/**
 * Returns the SQL for the beginning of a text (see `beginningOf`), by which lists sort names and labels. On SQLite, the
 * SQL is a generated column: SQLite uses an index to compare a row value such as `(label, id)` only if each member is a
 * column.
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

/**
 * The minimum length of a search term for SQLite's trigram index. For shorter terms, SQLite scans the rows that match
 * the other filters.
 */
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
  if ([...term].length < MIN_INDEXED_TERM) return rowContainsTerm(db, columns, term)
  const phrase = `{${columns.join(' ')}} : "${term.replaceAll('"', '""')}"`
  return db.raw('passes.row_number in (select rowid from pass_search where pass_search match ?)', [phrase])
}

/** Like `containsTerm`, for a query with few passes: on SQLite, reads these passes instead of the trigram index. */
export function rowContainsTerm(db: Knex, columns: readonly FoldedColumn[], term: string): Knex.Raw {
  if (isPostgres(db)) return containsTerm(db, columns, term)
  return db.raw(
    anyOf(columns, (column) => `instr(passes.${column}, ?) > 0`),
    columns.map(() => term),
  )
}

function anyOf(columns: readonly string[], condition: (column: string) => string): string {
  return `(${columns.map(condition).join(' or ')})`
}

/**
 * Returns the condition that a column is among the selected IDs. On PostgreSQL, the IDs become an array. Otherwise, a
 * subselect with locks would be planned as a scan, and could run more than once.
 */
export function isChosen(db: Knex, column: string, chosen: Knex.QueryBuilder): Knex.Raw {
  return db.raw(isPostgres(db) ? '?? = any(array(?))' : '?? in (?)', [column, chosen as never])
}

export function idIsChosen(db: Knex, chosen: Knex.QueryBuilder): Knex.Raw {
  return isChosen(db, 'id', chosen)
}

/**
 * Returns the condition that a column is among the IDs that are bound with `bindIds` under the name `ids`. The
 * condition uses the index of the column for any number of IDs.
 */
export function isAmong(db: Knex, column: string, ids: string, type: 'uuid' | 'text' = 'uuid'): string {
  return isPostgres(db) ? `${column} = any(:${ids}::${type}[])` : `${column} in (select value from json_each(:${ids}))`
}

/** Binds a list of IDs as one value for `isAmong`: an array on PostgreSQL, JSON on SQLite. */
export function bindIds(db: Knex, ids: string[]): Knex.Value {
  return (isPostgres(db) ? ids : JSON.stringify(ids)) as Knex.Value
}

/**
 * Returns the condition that a JSON array in a column contains only the given values. The condition is false if the
 * column is null.
 */
export function isPartOf(db: Knex, column: string, values: string[]): Knex.Raw {
  const all = JSON.stringify(values)
  if (isPostgres(db)) return db.raw('cast(?? as jsonb) <@ cast(? as jsonb)', [column, all])
  const others = 'select 1 from json_each(??) where value not in (select value from json_each(?))'
  return db.raw(`?? is not null and not exists (${others})`, [column, column, all])
}

/**
 * Deletes the rows that the query selects and returns their IDs. knex supports `returning` after a delete only for
 * PostgreSQL.
 */
export async function deleteReturningIds(db: Knex, query: Knex.QueryBuilder): Promise<string[]> {
  const { sql, bindings } = query.delete().toSQL()
  const result = await db.raw(`${sql} returning id`, bindings as Knex.RawBinding[])
  const rows: { id: string }[] = isPostgres(db) ? result.rows : result
  return rows.map((row) => row.id)
}

/** Returns a constant for a select list. PostgreSQL needs the type: it would treat an untyped value as text. */
export function constant(
  db: Knex,
  type: 'uuid' | 'text' | 'integer' | 'bigint',
  value: string | number | null,
): Knex.Raw {
  return isPostgres(db) ? db.raw(`cast(? as ${type})`, [value]) : db.raw('?', [value])
}

/**
 * Returns SQL that creates a version 7 UUID for each selected row. Like the UUIDs of `newId`, they ascend with the
 * time, but those of one statement are in random order.
 */
export function idsMadeAt(db: Knex, at: Date): Knex.Raw {
  const time = idBound(at.getTime()).slice(0, 13)
  // Take the part after the version digit of a random UUID: its variant and 74 random bits.
  if (isPostgres(db)) return db.raw('cast(? || substr(cast(gen_random_uuid() as text), 16) as uuid)', [`${time}-7`])
  return db.raw(
    `? || substr(lower(hex(randomblob(2))), 2) || '-' || substr('89ab', 1 + (random() & 3), 1)
      || substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))`,
    [`${time}-7`],
  )
}

/** Inserts a row for each row that the query finds, with one statement, and returns the number of inserted rows. */
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

export function toDate(value: number | null): Date | null {
  return value === null ? null : new Date(value)
}
