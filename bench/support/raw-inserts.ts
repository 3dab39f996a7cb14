import type { Knex } from 'knex'
import { tablesOf } from '../../src/storage/copy/rows.ts'
import { type Database, openDatabase } from '../../src/storage/db/database.ts'
import { migrate } from '../../src/storage/db/migrate.ts'

/**
 * The minimum work to write the rows that a server wrote: inserts the same rows with prepared statements, in
 * transactions with the same number of passes.
 */

export type Rows = Record<string, Record<string, unknown>[]>

/** The tables that passes refer to. */
const given = ['workspaces', 'templates', 'template_versions']

/** Creates a separate database with the rows that passes of another database refer to. */
export async function openRaw(url: string, issued: Database): Promise<Database> {
  const raw = openDatabase(url)
  await migrate(raw)
  const toGive = await givenTo(issued)
  for (const table of given) {
    for (const row of await issued.reader(table)) await raw.writer(table).insert(toGive(table, row))
  }
  return raw
}

/**
 * Reads the rows of passes, in sets of the given size.
 * @param tables the tables in addition to `passes`, with the column that names the pass
 */
export async function readRows(
  issued: Database,
  ids: string[],
  tables: Record<string, string>,
  size: number,
): Promise<Rows[]> {
  const toGive = await givenTo(issued)
  const read = async (table: string, column: string, values: string[]) =>
    (await issued.reader(table).whereIn(column, values)).map((row) => toGive(table, row))
  const sets: Rows[] = []
  for (let start = 0; start < ids.length; start += size) {
    const some = ids.slice(start, start + size)
    const rows: Rows = { passes: await read('passes', 'id', some) }
    for (const [table, column] of Object.entries(tables)) rows[table] = await read(table, column, some)
    if (rows.passes!.length !== some.length) throw new Error('Rows are missing')
    sets.push(rows)
  }
  return sets
}

export function insertRaw({ writer }: Database, rows: Rows): Promise<void> {
  return writer.transaction(async (tx) => {
    for (const [table, some] of Object.entries(rows)) if (some.length > 0) await insertPrepared(tx, table, some)
  })
}

async function insertPrepared(tx: Knex, table: string, rows: Record<string, unknown>[]): Promise<void> {
  const columns = Object.keys(rows[0]!)
  const tuple = `(${columns.map(() => '?').join(', ')})`
  const text = `insert into ${table} (${columns.map((column) => `"${column}"`).join(', ')})
    values ${rows.map(() => tuple).join(', ')}`
  const values = rows.flatMap((row) => columns.map((column) => row[column] as Knex.RawBinding))
  await tx.raw(text, values).options({ name: `raw-${table}-${rows.length}` })
}

/**
 * Returns a function that copies a row without the columns that an insert does not set: generated columns, and the
 * position in a sequence.
 */
async function givenTo({ reader }: Database) {
  const columns = new Map<string, string[]>()
  for (const table of await tablesOf(reader)) {
    const given = table.columns.filter(({ kind }) => kind !== 'position')
    columns.set(
      table.name,
      given.map(({ name }) => name),
    )
  }
  return (table: string, row: Record<string, unknown>) =>
    Object.fromEntries(columns.get(table)!.map((column) => [column, row[column]]))
}
