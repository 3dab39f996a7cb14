import type { Knex } from 'knex'
import { MAX_KEY_BYTES, MAX_KEY_CHARACTERS } from '../../../core/rules/lists/cursor.ts'
import { isPostgres } from '../../db/dialect.ts'

/**
 * Indexes a text by as much of it as a cursor can carry: an expression on PostgreSQL, a virtual column `<column>_beginning`
 * on SQLite, which continues after a row only along an index of columns.
 */
export async function addSortedPrefix(db: Knex, table: string, column: string, where?: string): Promise<void> {
  const isWhole = `octet_length(${column}) <= ${MAX_KEY_BYTES}`
  const prefix = `case when ${isWhole} then ${column} else substr(${column}, 1, ${MAX_KEY_CHARACTERS}) end`
  await addSortKey(db, {
    table,
    column: `${column}_beginning`,
    key: prefix,
    index: `${table}_by_${column}`,
    ...(where && { where }),
  })
}

/** Indexes an expression after the workspace, as a column of its own on SQLite. */
export async function addSortKey(
  db: Knex,
  sort: { table: string; column: string; key: string; index: string; where?: string },
): Promise<void> {
  const { table, column, key, index, where } = sort
  const condition = where ? ` where ${where}` : ''
  if (isPostgres(db)) {
    await db.raw(`create index ${index} on ${table} (workspace_id, (${key}), id)${condition}`)
    return
  }
  await db.raw(`alter table ${table} add column ${column} text generated always as (${key}) virtual`)
  await db.raw(`create index ${index} on ${table} (workspace_id, ${column}, id)${condition}`)
}
