import type { Knex } from 'knex'
import { boundColumn, isPostgres } from './dialect.ts'
import { runPrepared, runSilently } from './prepared.ts'
import { bytesOfHex, idsOfJson } from './values.ts'

/**
 * Returns the condition that the value of a column is not in the JSON array that is bound as `:name`. The condition's
 * text is the same for any number of IDs, so a prepared statement can contain it. PostgreSQL hashes the IDs.
 */
export function isNotInJson(db: Knex, column: string, name: string): string {
  return `${column} not in (${idsOfJson(db, `:${name}`)})`
}

/**
 * Returns the condition that the value of a column is in `values`, which can have any length. `whereIn` would need a
 * parameter for each value, and databases limit the number of parameters.
 */
export function isOneOf(db: Knex, column: string, values: string[], type: 'uuid' | 'text' = 'uuid'): Knex.Raw {
  if (isPostgres(db)) return db.raw(`?? = any(cast(? as ${type}[]))`, [column, values as never])
  return db.raw('?? in (select value from json_each(?))', [column, JSON.stringify(values)])
}

type ColumnType = 'uuid' | 'bigint' | 'integer' | 'boolean' | 'text'

export type Columns = Record<string, ColumnType>

export type Row = Record<string, string | number | boolean | null>

/** A column of the table `given` (the items of a statement), and a function that reads the value from an item. */
interface Field<Item> {
  name: string
  type: ColumnType
  valueIn: (item: Item) => Row[string] | undefined
}

/** The names of insert statements, by their table, columns, and ending. */
const insertNames = new Map<string, string>()

/**
 * Inserts any number of rows with one statement, whose text does not depend on the number of rows. All rows must have
 * the same columns in the same order. The rows are sent as one JSON value, because drivers bind many values more slowly
 * than databases parse JSON (decisions/0004).
 * @param ending SQL after the values, such as an `on conflict` clause. Without `returning`, a call inside a transaction
 * does not wait for the database
 */
export async function insertRows<Returned = never>(
  db: Knex,
  table: string,
  rows: object[],
  ending = '',
): Promise<Returned[]> {
  const [first] = rows as Record<string, Knex.Value>[]
  if (!first) return []
  const columns = Object.keys(first)
  const binary = columns.filter((column) =>
    (rows as Record<string, Knex.Value>[]).some((row) => row[column] instanceof Uint8Array),
  )
  const signature = [table, columns, binary, ending].join(' ')
  const name = insertNames.get(signature) ?? `insert-${insertNames.size}-${table}`
  insertNames.set(signature, name)
  const given = binary.length > 0 ? rows.map((row) => withHex(db, row, binary)) : rows
  const json = isPostgres(db)
    ? JSON.stringify(given)
    : JSON.stringify(given.map((row) => columns.map((column) => (row as Record<string, unknown>)[column])))
  const build = () => {
    const names = columns.map((column) => `"${column}"`).join(', ')
    if (isPostgres(db)) {
      return `insert into ${table} (${names}) select ${names} from json_populate_recordset(null::${table}, :rows::json) ${ending}`
    }
    const values = columns.map((column, n) => (binary.includes(column) ? bytesOfHex(db, valueAt(n)) : valueAt(n)))
    // Add a `where`. Otherwise, SQLite would parse `on` of `on conflict` as the condition of a join.
    return `${ROWS_OF_JSON} insert into ${table} (${names}) select ${values.join(', ')} from json_rows where true ${ending}`
  }
  if (ending.includes('returning')) return runPrepared<Returned>(db, name, { rows: json }, build)
  await runSilently(db, name, { rows: json }, build)
  return []
}

/**
 * The start of a SQLite statement that turns the JSON array `:rows` into rows. Without `materialized`, SQLite would
 * format a row as text again for each column: 28 µs instead of 9 µs to insert the row of a scan.
 */
const ROWS_OF_JSON = 'with json_rows as materialized (select value as json_row from json_each(:rows))'
const valueAt = (n: number) => `json_row ->> ${n}`

/** Returns the row with bytes as hexadecimal text. PostgreSQL, or `bytesOfHex` on SQLite, converts the text back. */
function withHex(db: Knex, row: object, binary: string[]): object {
  const prefix = isPostgres(db) ? '\\x' : ''
  const texts = binary.map((column) => {
    const bytes = (row as Record<string, Uint8Array | null>)[column]
    return [column, bytes && `${prefix}${Buffer.from(bytes).toString('hex')}`]
  })
  return { ...row, ...Object.fromEntries(texts) }
}

export interface RowsUpdate {
  name: string
  table: string
  set: Columns
  /**
   * The columns whose values in the row must still be the given ones. A row with other values is not written. Null never
   * matches.
   */
  read?: Columns
  /**
   * Further columns to set, each with the SQL of its value. The SQL can use the row, the change (as `given`), and the
   * parameters in `values`.
   */
  computed?: Record<string, string>
  values?: Record<string, Knex.Value>
}

export interface RowChange {
  id: string
  set: Row
  read?: Row
}

/**
 * Updates any number of rows of a workspace by ID with one statement, and returns the IDs of the rows that were
 * written. If all rows get the same values, as they usually do, the values are sent once. The values of `read` are
 * always sent per row. Otherwise, a planner could use an index on a column of `read`, and read every row with the
 * value.
 */
export async function updateRows(
  db: Knex,
  workspaceId: string,
  { name, table, set, read = {}, computed, values: named = {} }: RowsUpdate,
  changes: RowChange[],
): Promise<Set<string>> {
  const names = Object.keys(set)
  const first = changes[0]?.set
  const isAlike =
    !computed && changes.every((change) => names.every((column) => change.set[column] === first?.[column]))
  const fields: Field<RowChange>[] = [
    { name: 'id', type: 'uuid', valueIn: (change) => change.id },
    { name: 'read_workspace_id', type: 'uuid', valueIn: () => workspaceId },
    ...fieldsOf(read, (change: RowChange) => change.read, 'read_'),
    ...(isAlike ? [] : fieldsOf(set, (change: RowChange) => change.set)),
  ]
  const common = isAlike ? names.map((column) => [`set_${column}`, first?.[column] ?? null]) : []
  const values = { ...named, ...Object.fromEntries(common), ...bind(db, fields, changes) }
  const written = await runPrepared<{ id: string }>(db, isAlike ? `${name}-alike` : name, values, () => {
    const assignments = names.map((column) => `${column} = ${isAlike ? `:set_${column}` : `given.${column}`}`)
    for (const [column, sql] of Object.entries(computed ?? {})) assignments.push(`${column} = ${sql}`)
    const conditions = ['workspace_id', ...Object.keys(read)].map(
      (column) => `${boundColumn(db, `${table}.${column}`)} = given.read_${column}`,
    )
    return `update ${table} set ${assignments.join(', ')} from (${select(db, fields)}) as given
        where ${table}.id = given.id and ${conditions.join(' and ')} returning ${table}.id`
  })
  return new Set(written.map(({ id }) => id))
}

function fieldsOf<Item>(columns: Columns, rowOf: (item: Item) => Row | undefined, prefix = ''): Field<Item>[] {
  return Object.entries(columns).map(([column, type]) => ({
    name: `${prefix}${column}`,
    type,
    valueIn: (item) => rowOf(item)?.[column],
  }))
}

export interface Lookup {
  name: string
  given: Columns
  items: Row[]
}

/**
 * Runs a select for any number of items. The text of the statement does not depend on the number of items
 * (decisions/0004).
 * @param sql selects from `given`, which has the columns of each item, `workspace_id`, and `n`, the index of the item
 */
export async function selectForEach<Found extends { n: number }>(
  db: Knex,
  workspaceId: string,
  { name, given, items }: Lookup,
  sql: string,
): Promise<Found[]> {
  const fields: Field<readonly [number, Row]>[] = [
    { name: 'n', type: 'integer', valueIn: ([n]) => n },
    { name: 'workspace_id', type: 'uuid', valueIn: () => workspaceId },
    ...fieldsOf(given, ([, row]: readonly [number, Row]) => row),
  ]
  const values = bind(db, fields, [...items.entries()])
  return runPrepared<Found>(
    db,
    name,
    values,
    () => `with given as ${isPostgres(db) ? '' : 'materialized'} (${select(db, fields)}) ${sql}`,
  )
}

/**
 * Inserts a row for each item that meets a condition. Inside a transaction, the call does not wait for the database.
 * @param condition SQL in which `given` is the row to insert
 */
export async function insertForEach(
  db: Knex,
  { name, table, given, items }: Lookup & { table: string },
  condition: string,
): Promise<void> {
  if (items.length === 0) return
  const fields = fieldsOf(given, (item: Row) => item)
  const columns = Object.keys(given)
  await runSilently(
    db,
    name,
    bind(db, fields, items),
    () => `insert into ${table} (${columns.join(', ')})
      select ${columns.map((column) => `given.${column}`).join(', ')} from (${select(db, fields)}) as given where ${condition}`,
  )
}

/**
 * Returns SQL that reads rows from the result of `bind`: on PostgreSQL, a named array per field; on SQLite, a JSON
 * array of arrays.
 */
function select<Item>(db: Knex, fields: Field<Item>[]): string {
  if (!isPostgres(db)) {
    return `${ROWS_OF_JSON} select ${fields.map(({ name }, n) => `${valueAt(n)} as ${name}`).join(', ')} from json_rows`
  }
  const arrays = fields.map(({ name, type }) => `:${name}::${type}[]`)
  return `select * from unnest(${arrays.join(', ')}) as rows(${fields.map(({ name }) => name).join(', ')})`
}

function bind<Item>(db: Knex, fields: Field<Item>[], items: Item[]): Record<string, Knex.Value> {
  if (!isPostgres(db)) return { rows: JSON.stringify(items.map((item) => fields.map(({ valueIn }) => valueIn(item)))) }
  const arrays = fields.map(({ name, valueIn }) => [name, items.map((item) => valueIn(item) ?? null)])
  return Object.fromEntries(arrays)
}
