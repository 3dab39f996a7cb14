import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

const platforms = ['apple', 'google']

/** Which passes wallets hold, one row each while there is one: what was told of them, and what lists are filtered by. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('held_passes', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id')
    // Devices with the pass in Apple Wallet, and people who have it in Google Wallet.
    table.integer('apple').notNullable()
    table.integer('google').notNullable()
    table.primary(['workspace_id', 'pass_id'])
  })
  for (const platform of platforms) {
    await db.raw(`create index held_passes_at_${platform} on held_passes (workspace_id, pass_id) where ${platform} > 0`)
  }
  // Those of before are told to nobody.
  await db.raw(`insert into held_passes (workspace_id, pass_id, apple, google)
    select workspace_id, pass_id, sum(apple), sum(google) from (
      select workspace_id, pass_id, 1 as apple, 0 as google from apple_registrations
      union all
      select workspace_id, pass_id, 0, holders from google_objects where holders > 0
    ) as held group by workspace_id, pass_id`)
  if (isPostgres(db)) {
    // Rewritten as devices come and go.
    await db.raw('alter table held_passes set (fillfactor = 80)')
    return
  }
  const indexes = ['sqlite_autoindex_held_passes_1', ...platforms.map((platform) => `held_passes_at_${platform}`)]
  const stats = ['10000000 1000000 1', '5000000 500000 1', '5000000 500000 1']
  await db('sqlite_stat1').insert(indexes.map((idx, n) => ({ tbl: 'held_passes', idx, stat: stats[n] })))
  await db.raw('analyze sqlite_schema')
}
