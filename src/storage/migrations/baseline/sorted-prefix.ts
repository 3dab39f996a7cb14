import type { Knex } from 'knex'
import { MAX_KEY_BYTES, MAX_KEY_CHARACTERS } from '../../../core/rules/lists/cursor.ts'
import { inDialect } from '../../db/dialect.ts'

/**
 * Indexes a text by as much of it as a cursor can carry: an expression on PostgreSQL, a virtual column `<column>_beginning`
 * on SQLite, which continues after a row only along an index of columns.
 * @param where the rows that the index holds; all by default
 */
export async function addSortedPrefix(db: Knex, table: string, column: string, where?: string): Promise<void> {
  const isWhole = `octet_length(${column}) <= ${MAX_KEY_BYTES}`
  const prefix = `case when ${isWhole} then ${column} else substr(${column}, 1, ${MAX_KEY_CHARACTERS}) end`
  const index = `${table}_by_${column}`
  const condition = where ? ` where ${where}` : ''
  const create = (indexed: string) =>
    db.raw(`create index ${index} on ${table} (workspace_id, ${indexed}, id)${condition}`)
  await inDialect(db, {
    postgres: () => create(`(${prefix})`),
    async sqlite() {
      await db.raw(`alter table ${table} add column ${column}_beginning text generated always as (${prefix}) virtual`)
      await create(`${column}_beginning`)
    },
  })
}
