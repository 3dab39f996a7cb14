import type { Knex } from 'knex'
import { boundColumn, bytesOfHex, isPostgres } from './dialect.ts'
import { runPrepared, runSilently } from './prepared.ts'

/**
 * The condition that an id is none of those of a named value, a JSON array, so that the statement is the same for any number
 * of them. PostgreSQL looks each up in a hash.
 */
export function isNotInJson(db: Knex, column: string, name: string): string {
  const ids = isPostgres(db)
    ? `select json_array_elements_text(:${name}::json)::uuid`
    : `select value from json_each(:${name})`
  return `${column} not in (${ids})`
}

/** The condition that a column is one of any number of values: `whereIn` has a parameter for each, and databases a limit to those. */
export function isOneOf(db: Knex, column: string, values: string[], type: 'uuid' | 'text' = 'uuid'): Knex.Raw {
  if (isPostgres(db)) return db.raw(`?? = any(cast(? as ${type}[]))`, [column, values as never])
  return db.raw('?? in (select value from json_each(?))', [column, JSON.stringify(values)])
}

type ColumnType = 'uuid' | 'bigint' | 'integer' | 'boolean' | 'text'

/** Columns of rows that go to the database together, and their types. */
export type Columns = Record<string, ColumnType>

/** The values of a row, by column. */
export type Row = Record<string, string | number | boolean | null>

/** A value that each item sends, the name that it has in the statement, and its type. */
interface Field<Item> {
  name: string
  type: ColumnType
  valueIn: (item: Item) => Row[string] | undefined
}

/** Names of the statements that insert rows, by what they are made of. */
const insertNames = new Map<string, string>()

/**
 * Inserts any number of rows, all with the same columns and in their order, by one statement, which is the same for any
 * number of them. They go as one value, which is JSON: a driver takes longer for many values than a database to read it
 * (decisions/0004).
 * @param ending what follows the values, such as what to do about a conflict; where it returns nothing, nobody waits for it
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
    // SQLite takes "on" for that of a join where no condition comes before it.
    return `${ROWS_OF_JSON} insert into ${table} (${names}) select ${values.join(', ')} from json_rows where true ${ending}`
  }
  if (ending.includes('returning')) return runPrepared<Returned>(db, name, { rows: json }, build)
  await runSilently(db, name, { rows: json }, build)
  return []
}

/**
 * Before a statement of SQLite: its JSON in rows. Materialized: each column that is read would else write its row as text anew,
 * which took 28 µs a scan instead of 9 (decisions/0004).
 */
const ROWS_OF_JSON = 'with json_rows as materialized (select value as json_row from json_each(:rows))'
const valueAt = (n: number) => `json_row ->> ${n}`

/** The row with its bytes as JSON can hold them: as PostgreSQL writes them as text, or for bytesOfHex. */
function withHex(db: Knex, row: object, binary: string[]): object {
  const prefix = isPostgres(db) ? '\\x' : ''
  const texts = binary.map((column) => {
    const bytes = (row as Record<string, Uint8Array | null>)[column]
    return [column, bytes && `${prefix}${Buffer.from(bytes).toString('hex')}`]
  })
  return { ...row, ...Object.fromEntries(texts) }
}

/** A statement that changes many rows, each to values of its own. */
export interface RowsUpdate {
  /** Of the statement. */
  name: string
  table: string
  set: Columns
  /** What a row must still hold, besides its id, to be written. */
  read?: Columns
}

/** A row and what is written to it. */
export interface RowChange {
  id: string
  set: Row
  read?: Row
}

/**
 * Writes columns of any number of rows of a workspace, each found by its id, by one statement; returns the ids of those that
 * were written. Where all get the same values, which is what mostly happens, these go once. What a row must hold goes with
 * each, never as a value in the statement: a planner may think that few rows have it, and read all that do.
 */
export async function updateRows(
  db: Knex,
  workspaceId: string,
  { name, table, set, read = {} }: RowsUpdate,
  changes: RowChange[],
): Promise<Set<string>> {
  const names = Object.keys(set)
  const first = changes[0]?.set
  const isAlike = changes.every((change) => names.every((column) => change.set[column] === first?.[column]))
  const fields: Field<RowChange>[] = [
    { name: 'id', type: 'uuid', valueIn: (change) => change.id },
    { name: 'read_workspace_id', type: 'uuid', valueIn: () => workspaceId },
    ...fieldsOf(read, (change: RowChange) => change.read, 'read_'),
    ...(isAlike ? [] : fieldsOf(set, (change: RowChange) => change.set)),
  ]
  const alike = isAlike ? names.map((column) => [`set_${column}`, first?.[column] ?? null]) : []
  const values = { ...Object.fromEntries(alike), ...bind(db, fields, changes) }
  const written = await runPrepared<{ id: string }>(db, isAlike ? `${name}-alike` : name, values, () => {
    const assignments = names.map((column) => `${column} = ${isAlike ? `:set_${column}` : `given.${column}`}`)
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

/** What is looked up for each of many items: what they bring, by column, and their values. */
export interface Lookup {
  /** Of the statement. */
  name: string
  given: Columns
  items: Row[]
}

/**
 * Runs a select that looks something up for any number of items, by a statement that is the same for any number of them
 * (decisions/0004). As with `insertRows`, materialized on SQLite.
 * @param sql selects from `given`: what each item brings, beside `workspace_id` and `n`, the place of the item
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
 * Inserts a row for each item that a condition holds for; nobody waits for it in a transaction.
 * @param condition on `given`, the row
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

/** Selects what `bind` binds: on PostgreSQL an array for each field, by its name, on SQLite a JSON array of arrays. */
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
