import type { Knex } from 'knex'
import { inDialect, rowsOf } from '../db/dialect.ts'

/**
 * The format of a column, the same for both databases (decisions/0021). A `position` is a place in the order of its own
 * database and has no meaning in another one.
 */
type ColumnKind = 'text' | 'number' | 'bytes' | 'boolean' | 'position'

export interface Column {
  name: string
  kind: ColumnKind
}

/** A table with the columns that both databases have, ordered by name. */
export interface Table {
  name: string
  columns: Column[]
  /** The columns of the primary key. */
  key: string[]
}

/** Tables that are valid for one database only: coordination of servers, and positions. Doors download their lists again. */
const LEFT_OUT = new Set(['migrations', 'leases', 'instances', 'scanner_snapshots', 'copy_progress'])

/** The row ID of SQLite, which its text index refers to. */
const ROW_NUMBER = 'row_number'

const POSITIONS = new Set(['events.position', 'passes.change_position', 'templates.name_position'])

/** Returns the tables to copy, ordered by name. */
export async function tablesOf(db: Knex): Promise<Table[]> {
  const tables = new Map<string, Table>()
  for (const { tbl, name, type, key } of await columnsOf(db)) {
    if (LEFT_OUT.has(tbl) || name === ROW_NUMBER) continue
    const table = tables.get(tbl) ?? { name: tbl, columns: [], key: [] }
    tables.set(tbl, table)
    table.columns.push({ name, kind: kindOf(`${tbl}.${name}`, type) })
    if (key > 0) table.key.push(name)
  }
  // On SQLite, the primary key of passes is the row ID.
  for (const table of tables.values()) if (table.key.length === 0) table.key.push('id')
  return [...tables.values()]
}

function kindOf(column: string, type: string): ColumnKind {
  if (POSITIONS.has(column)) return 'position'
  if (/^(bytea|blob)$/i.test(type)) return 'bytes'
  if (/^bool/i.test(type)) return 'boolean'
  return /int/i.test(type) ? 'number' : 'text'
}

interface ColumnRow {
  tbl: string
  name: string
  type: string
  /** The 1-based place in the primary key; 0 if it is not a part of it. */
  key: number
}

/** Returns the stored columns, without generated ones. */
async function columnsOf(db: Knex): Promise<ColumnRow[]> {
  const sql = inDialect(db, {
    postgres:
      () => `select c.relname as tbl, a.attname as name, t.typname as type, coalesce(array_position(i.indkey, a.attnum), -1) + 1 as key
        from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
        left join pg_index i on i.indrelid = c.oid and i.indisprimary
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0
          and not a.attisdropped and a.attgenerated = '' order by 1, 2`,
    sqlite: () => `select m.name as tbl, c.name, c.type, c.pk as key from sqlite_schema m, pragma_table_xinfo(m.name) c
        where m.type = 'table' and m.name not like 'sqlite~_%' escape '~' and m.name not like 'pass~_search%' escape '~'
          and c.hidden = 0 order by 1, 2`,
  })
  return rowsOf(db, await db.raw(sql))
}
