import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

const columns = { projects: 'name', templates: 'name', passes: 'label' }

/**
 * Lists by name or label sort by as much of it as a cursor carries, which is indexed instead of the whole text. A column that is
 * made when it is read takes no room, and none of the tables is written anew.
 */
export async function up(db: Knex): Promise<void> {
  for (const [table, column] of Object.entries(columns)) {
    await db.schema.alterTable(table, (index) => index.dropIndex(['workspace_id', column, 'id']))
    const beginning = `case when octet_length(${column}) <= 320 then ${column} else substr(${column}, 1, 80) end`
    const key = isPostgres(db) ? `(${beginning})` : `${column}_beginning`
    if (!isPostgres(db)) {
      await db.raw(`alter table ${table} add column ${key} text generated always as (${beginning}) virtual`)
    }
    await db.raw(`create index ${table}_by_${column} on ${table} (workspace_id, ${key}, id)`)
  }
  if (isPostgres(db)) return
  // As the index that it replaces: an equal label leaves few of a million rows.
  await db('sqlite_stat1').where({ tbl: 'passes', idx: 'passes_workspace_id_label_id_index' }).delete()
  await db('sqlite_stat1').insert({ tbl: 'passes', idx: 'passes_by_label', stat: '10000000 1000000 1 1' })
  await db.raw('analyze sqlite_schema')
}
