import type { Knex } from 'knex'
import { isPostgres, runPrepared } from './dialect.ts'

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

/** Columns of rows that go to the database as one JSON array, and their types. */
export type JsonColumns = Record<string, 'uuid' | 'bigint' | 'integer' | 'boolean' | 'text'>

/** Inserts any number of rows by one statement, which is the same for any number of them. */
export async function insertJson(db: Knex, table: string, columns: JsonColumns, rows: object[]): Promise<void> {
  await runPrepared(db, `insert-json-${table}`, [JSON.stringify(rows)], () =>
    db.raw(`insert into ${table} (${Object.keys(columns).join(', ')}) ${selectJson(db, columns)}`, ['']),
  )
}

export interface JsonUpdate {
  /** Of the statement. */
  name: string
  set: JsonColumns
  /** What else is known of each row. */
  given?: JsonColumns
  /** In SQL: what must hold of a row, beside what is `given` of it. */
  where?: string
}

/**
 * Writes columns of any number of rows, each found by its id, by one statement; returns the ids of those that were written.
 */
export async function updateJson(
  db: Knex,
  table: string,
  { name, set, given = {}, where = 'true' }: JsonUpdate,
  rows: { id: string }[],
): Promise<Set<string>> {
  const written = await runPrepared<{ id: string }>(db, name, [JSON.stringify(rows)], () => {
    const changes = Object.keys(set).map((name) => `${name} = given.${name}`)
    const source = selectJson(db, { id: 'uuid', ...set, ...given })
    return db.raw(
      `update ${table} set ${changes.join(', ')} from (${source}) as given
        where ${table}.id = given.id and ${where} returning ${table}.id`,
      [''],
    )
  })
  return new Set(written.map(({ id }) => id))
}

function selectJson(db: Knex, columns: JsonColumns): string {
  const names = Object.keys(columns)
  if (!isPostgres(db))
    return `select ${names.map((name) => `value ->> '${name}' as ${name}`).join(', ')} from json_each(?)`
  const typed = names.map((name) => `${name} ${columns[name]}`)
  return `select ${names.join(', ')} from json_to_recordset(?::json) as rows(${typed.join(', ')})`
}
