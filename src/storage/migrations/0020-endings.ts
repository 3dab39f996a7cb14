import type { Knex } from 'knex'

/** Workspaces whose links are closed, and tokens that another one follows. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('workspaces', (table) => {
    table.bigInteger('links_closed_at')
  })
  await db.schema.alterTable('tokens', (table) => {
    table.uuid('replaced_by')
  })
  // What ends soon, among however many tokens that do not.
  await db.raw(`create index tokens_ending on tokens (expires_at)
    where expires_at is not null and revoked_at is null and replaced_by is null`)
}
