import { hash } from 'node:crypto'
import { finished } from 'node:stream/promises'
import type { Knex } from 'knex'
import { from as copyFrom } from 'pg-copy-streams'
import { inDialect, rowsOf } from '../db/dialect.ts'
import { hexOfBytes, quoteJson } from '../db/values.ts'

/**
 * The text format in which a target reads rows fastest: CSV for PostgreSQL, JSON for SQLite. Source and target write
 * the same text for a row, so that digests are comparable.
 */
export type Notation = 'csv' | 'json'

/** The primary key of the last row of a page. The next page starts after it. */
export type RowKey = Knex.RawBinding[]

export function notationFor(db: Knex): Notation {
  return inDialect(db, { postgres: () => 'csv', sqlite: () => 'json' })
}

/** Returns the next rows of a table after a key, in the order of the key. */
export async function readRows(
  db: Knex,
  table: Table,
  { notation, after, limit }: { notation: Notation; after: RowKey | undefined; limit: number },
): Promise<{ texts: string[]; last: RowKey | undefined }> {
  const { name, columns, key } = table
  const keys = key.map(quoted).join(', ')
  const behind = after ? `where (${keys}) > (${key.map(() => '?').join(', ')})` : ''
  const values = columns.map((column) => notations[notation].value(db, column)).join(` || ',' || `)
  const sql = `select ${notations[notation].row(values)} as row_text, ${keys} from ${quoted(name)} ${behind} order by ${keys} limit ?`
  type Found = { row_text: string } & Record<string, Knex.RawBinding>
  const rows = rowsOf<Found>(db, await db.raw(sql, [...(after ?? []), limit]))
  const last = rows.at(-1)
  return { texts: rows.map((row) => row.row_text), last: last && key.map((column) => last[column]!) }
}

/** Inserts rows in the notation of the target (`notationFor`). Call `prepareTarget` first. */
export function writeRows(tx: Knex.Transaction, { name, columns }: Table, texts: string[]): Promise<void> {
  const names = columns.map((column) => quoted(column.name)).join(', ')
  return inDialect(tx, {
    async postgres() {
      const connection = await tx.client.acquireConnection()
      const stream = connection.query(copyFrom(`copy ${quoted(name)} (${names}) from stdin (format csv)`))
      stream.end(`${texts.join('\n')}\n`)
      await finished(stream)
    },
    async sqlite() {
      const values = columns.map(({ kind }, nth) => (kind === 'bytes' ? `unhex(value ->> ${nth})` : `value ->> ${nth}`))
      await tx.raw(`insert into ${quoted(name)} (${names}) select ${values.join(', ')} from json_each(?)`, [
        `[${texts.join()}]`,
      ])
    },
  })
}

const notations: Record<Notation, { row(values: string): string; value(db: Knex, column: Column): string }> = {
  csv: {
    row: (values) => values,
    value(db, { name, kind }) {
      const column = quoted(name)
      const text = (of: string) => `coalesce('"' || replace(${of}, '"', '""') || '"', '')`
      if (kind === 'bytes') return `coalesce('\\x' || ${hexOfBytes(db, column)}, '')`
      if (kind === 'boolean') return `coalesce(case when ${column} then 't' else 'f' end, '')`
      if (kind === 'position') return `case when ${column} is null then '' else '0' end`
      return kind === 'number' ? `coalesce(cast(${column} as text), '')` : text(`cast(${column} as text)`)
    },
  },
  json: {
    row: (values) => `'[' || ${values} || ']'`,
    value(db, { name, kind }) {
      const column = quoted(name)
      const text = (of: string) => `coalesce(${quoteJson(db, of)}, 'null')`
      if (kind === 'bytes') return text(hexOfBytes(db, column))
      if (kind === 'boolean') return `case when ${column} then 'true' when not ${column} then 'false' else 'null' end`
      if (kind === 'position') return `case when ${column} is null then 'null' else '0' end`
      return kind === 'number' ? `coalesce(cast(${column} as text), 'null')` : text(`cast(${column} as text)`)
    },
  },
}

function quoted(name: string): string {
  return `"${name}"`
}

const MODULUS = 1n << 256n

/** A digest of a set of rows that does not depend on their order: the sum of their SHA-256 digests. */
export class RowsDigest {
  private sum: bigint
  count: number

  /** @param known the result of `toJSON` for the rows of an earlier run */
  constructor(known = { count: 0, sum: '0' }) {
    this.count = known.count
    this.sum = BigInt(`0x${known.sum}`)
  }

  add(texts: string[]): void {
    let sum = this.sum
    for (const text of texts) sum += BigInt(`0x${hash('sha256', text)}`)
    this.sum = sum % MODULUS
    this.count += texts.length
  }

  toJSON(): { count: number; sum: string } {
    return { count: this.count, sum: this.sum.toString(16) }
  }

  equals(other: RowsDigest): boolean {
    return this.count === other.count && this.sum === other.sum
  }
}

/**
 * The format of a column, the same for both databases (decisions/0021). A `position` (`db/positions.ts`) has no meaning
 * in another database, so it is copied as 0.
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
  key: string[]
}

/**
 * The tables that are not copied. They describe one database, coordinate servers, or contain positions. Doors download
 * complete snapshots again, because `scanner_snapshots` is not copied.
 */
const LEFT_OUT = new Set(['migrations', 'leases', 'instances', 'scanner_snapshots', 'copy_progress'])

/** The column with the row ID on SQLite. The text index refers to rows by this ID. */
const ROW_NUMBER = 'row_number'

const POSITIONS = new Set(['events.position', 'passes.change_position', 'templates.name_position'])

export async function tablesOf(db: Knex): Promise<Table[]> {
  const tables = new Map<string, Table>()
  for (const { tbl, name, type, key } of await columnsOf(db)) {
    if (LEFT_OUT.has(tbl) || name === ROW_NUMBER) continue
    const table = tables.get(tbl) ?? { name: tbl, columns: [], key: [] }
    tables.set(tbl, table)
    table.columns.push({ name, kind: kindOf(`${tbl}.${name}`, type) })
    if (key > 0) table.key.push(name)
  }
  // On SQLite, use the column `id` as the key of `passes`, because the primary key, ROW_NUMBER, is not copied.
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
  /** The 1-based position in the primary key; 0 for other columns. */
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
