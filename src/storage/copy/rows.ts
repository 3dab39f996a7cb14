import { hash } from 'node:crypto'
import { finished } from 'node:stream/promises'
import type { Knex } from 'knex'
import { from as copyFrom } from 'pg-copy-streams'
import { inDialect, rowsOf } from '../db/dialect.ts'
import { hexOfBytes, quoteJson } from '../db/values.ts'
import type { Column, Table } from './tables.ts'

/** The text format of rows: the one that the target reads fastest. Both databases write a row in the same way. */
export type Notation = 'csv' | 'json'

/** The key of the row after which reading continues. */
export type RowKey = Knex.RawBinding[]

/** A page of rows, each as text. */
export interface RowTexts {
  texts: string[]
  /** The key of the last row. */
  last: RowKey | undefined
}

/** Returns the notation that a target database reads. */
export function notationFor(db: Knex): Notation {
  return inDialect(db, { postgres: () => 'csv', sqlite: () => 'json' })
}

/** Returns the next rows of a table after a key, in the order of the key. */
export async function readRows(
  db: Knex,
  table: Table,
  { notation, after, limit }: { notation: Notation; after: RowKey | undefined; limit: number },
): Promise<RowTexts> {
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

/** Inserts rows that are in the notation of their database. The target must be prepared. */
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

/** The SQL that formats values and rows. */
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

  /** Adds rows to the digest, each as text. */
  add(texts: string[]): void {
    let sum = this.sum
    for (const text of texts) sum += BigInt(`0x${hash('sha256', text)}`)
    this.sum = sum % MODULUS
    this.count += texts.length
  }

  /** Returns the state from which the constructor resumes. */
  toJSON(): { count: number; sum: string } {
    return { count: this.count, sum: this.sum.toString(16) }
  }

  /** Whether both digests cover the same rows, in any order. */
  equals(other: RowsDigest): boolean {
    return this.count === other.count && this.sum === other.sum
  }
}
