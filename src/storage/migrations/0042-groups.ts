import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** Passes that belong together. */
export async function up(db: Knex): Promise<void> {
  const ofPostgres = isPostgres(db)
  await db.raw(`alter table passes add column group_id ${ofPostgres ? 'uuid' : 'char(36)'}`)
  await db.raw(`alter table passes add column group_key text${ofPostgres ? ' collate "C"' : ''}`)
  await db.raw('create index passes_of_group on passes (group_id, id) where group_id is not null')

  // Lists sort by as much of a key as a cursor carries, and passes without one stand behind all others.
  const last = ofPostgres ? `chr(1114111)` : `char(1114111)`
  const beginning = `case when group_key is null then ${last}
    when octet_length(group_key) <= 320 then group_key else substr(group_key, 1, 80) end`
  if (!ofPostgres)
    await db.raw(`alter table passes add column group_sort text generated always as (${beginning}) virtual`)
  const key = ofPostgres ? `(${beginning})` : 'group_sort'
  await db.raw(`create index passes_by_group_key on passes (workspace_id, ${key}, id)`)

  // Groups whose links were revoked; those of no row are at their first.
  await db.schema.createTable('group_links', (table) => {
    table.uuid('group_id').primary()
    table.uuid('workspace_id').notNullable()
    table.bigInteger('generation').notNullable()
  })
  if (ofPostgres) return
  // As of labels: an equal key leaves few of a million rows.
  await db('sqlite_stat1').insert({ tbl: 'passes', idx: 'passes_by_group_key', stat: '10000000 1000000 5 1' })
  await db('sqlite_stat1').insert({ tbl: 'passes', idx: 'passes_of_group', stat: '1000000 5 1' })
  await db.raw('analyze sqlite_schema')
}
