import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** Erased passes in the order of changes: pages of lists that were kept ask for them before they go out again. */
export async function up(db: Knex): Promise<void> {
  await db.raw(
    'create index passes_erased_by_change on passes (workspace_id, change_position) where erased_at is not null',
  )
  if (isPostgres(db)) return
  await db('sqlite_stat1').insert({ tbl: 'passes', idx: 'passes_erased_by_change', stat: '10000 1000 1' })
  await db.raw('analyze sqlite_schema')
}
