import type { Knex } from 'knex'

const queueOfKind = {
  'issue-pass': 'issuing',
  'update-wallet': 'wallets',
  'upsert-google-class': 'wallets',
  'detach-project': 'upkeep',
}

/** Each kind of job waits in a lane of its own sort. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('jobs', (table) => {
    table.text('lane').notNullable().defaultTo('')
  })
  for (const [kind, lane] of Object.entries(queueOfKind)) await db('jobs').where({ kind }).update({ lane })
  await db.raw('drop index jobs_due')
  await db.raw('create index jobs_due on jobs (lane, priority, run_at) where claim_token is null and failed_at is null')
}
