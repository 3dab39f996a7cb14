import type { Knex } from 'knex'
import { boundColumn, isPostgres, runPrepared } from './dialect.ts'

/**
 * The condition that an id is none of those of a JSON array, so that the statement is the same for any number of them.
 * PostgreSQL looks each up in a hash.
 */
export function isNotInJson(db: Knex, column: string): Knex.Raw {
  return db.raw(`${column} not in (${jsonIds(db)})`, [''])
}

function jsonIds(db: Knex): string {
  return isPostgres(db) ? 'select json_array_elements_text(?::json)::uuid' : 'select value from json_each(?)'
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

/** Inserts any number of rows by one statement, which is the same for any number of them. */
export async function insertRows(db: Knex, table: string, columns: Columns, rows: Row[]): Promise<void> {
  const fields = fieldsOf(columns, (row: Row) => row)
  const bindings = bind(db, fields, rows)
  await runPrepared(db, `insert-rows-${table}`, bindings, () =>
    db.raw(`insert into ${table} (${Object.keys(columns).join(', ')}) ${select(db, fields)}`, bindings),
  )
}

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
  const values = isAlike ? names.map((column) => first?.[column] ?? null) : []
  const bindings = [...values, ...bind(db, fields, changes)]
  const written = await runPrepared<{ id: string }>(db, isAlike ? `${name}-alike` : name, bindings, () => {
    const assignments = names.map((column) => `${column} = ${isAlike ? '?' : `given.${column}`}`)
    const conditions = ['workspace_id', ...Object.keys(read)].map(
      (column) => `${boundColumn(db, `${table}.${column}`)} = given.read_${column}`,
    )
    return db.raw(
      `update ${table} set ${assignments.join(', ')} from (${select(db, fields)}) as given
        where ${table}.id = given.id and ${conditions.join(' and ')} returning ${table}.id`,
      bindings,
    )
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
 * Runs a select that looks something up for any number of items, by a statement that is the same for any number of them.
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
  const bindings = bind(db, fields, [...items.entries()])
  return runPrepared<Found>(db, name, bindings, () => db.raw(`with given as (${select(db, fields)}) ${sql}`, bindings))
}

/** Selects what `bind` binds: on PostgreSQL an array for each field, on SQLite a JSON array of arrays. */
function select<Item>(db: Knex, fields: Field<Item>[]): string {
  if (!isPostgres(db))
    return `select ${fields.map(({ name }, i) => `value ->> ${i} as ${name}`).join(', ')} from json_each(?)`
  const arrays = fields.map(({ type }) => `?::${type}[]`)
  return `select * from unnest(${arrays.join(', ')}) as rows(${fields.map(({ name }) => name).join(', ')})`
}

function bind<Item>(db: Knex, fields: Field<Item>[], items: Item[]): Knex.RawBinding[] {
  if (!isPostgres(db)) return [JSON.stringify(items.map((item) => fields.map(({ valueIn }) => valueIn(item))))]
  return fields.map(({ valueIn }) => items.map((item) => valueIn(item) ?? null)) as Knex.RawBinding[]
}
