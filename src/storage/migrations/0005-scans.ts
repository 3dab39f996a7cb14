import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** The ledger of scans: every attempt and every reversal, for good. */
export async function up(db: Knex): Promise<void> {
  const postgres = isPostgres(db)
  /** Text that sorts by code point on both databases. */
  const sorted = postgres ? 'text collate "C"' : 'text'

  await db.schema.createTable('scans', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    // As the ledger shows them and, in reason_code, as the one who scans was told.
    table.text('result').notNullable()
    table.text('reason')
    table.text('reason_code')
    table.text('message').notNullable()
    table.text('verified').notNullable()
    // What was found, as it stood then: no foreign keys, since a ledger outlives what it tells of.
    table.uuid('pass_id')
    table.text('external_pass_id')
    table.uuid('project_id')
    table.uuid('template_id')
    table.uuid('template_version_id')
    table.text('redemption')
    table.integer('matched_count').notNullable()
    table.integer('prior_count').notNullable()
    // Where several passes matched, a replay finds them again by what was read.
    table.specificType('payload_digest', postgres ? 'bytea' : 'blob')
    table.specificType('scan_context_key', sorted)
    table.bigInteger('scanned_at').notNullable()
    table.bigInteger('recorded_at').notNullable()
    table.text('device_id')
    table.text('external_ref')
    table.text('context')
    table.text('conflict')
    table.text('validate_as_of')
    table.uuid('reverses_scan_id').unique()
    table.text('reversal_reason')
    table.unique(['workspace_id', 'external_ref'])
    table.index(['workspace_id', 'scanned_at', 'id'])
    for (const filter of ['pass_id', 'template_id', 'result', 'reason', 'scan_context_key']) {
      table.index(['workspace_id', filter, 'scanned_at', 'id'])
    }
    // What stands behind the id is counted by the figures of a project without a look at the rows.
    table.index(['workspace_id', 'project_id', 'scanned_at', 'id', 'result', 'scan_context_key', 'template_id'])
  })

  await db.schema.alterTable('accepted_scans', (table) => {
    table.uuid('project_id')
    table.uuid('template_id')
    // Set where several windows of the policy held the moment: the one that the use was charged to.
    table.text('charged_window')
    table.dropIndex(['pass_id', 'scan_context_key', 'scanned_at'])
  })
  if (postgres) await db.raw('alter table accepted_scans alter column scan_context_key type text collate "C"')
  await db.schema.alterTable('accepted_scans', (table) => {
    table.index(['workspace_id', 'pass_id', 'scanned_at', 'charged_window'], 'accepted_scans_by_time')
    table.index(['workspace_id', 'pass_id', 'scan_context_key', 'scanned_at'], 'accepted_scans_by_context')
    const filters = ['project_id', 'scan_context_key', 'scanned_at', 'pass_id', 'template_id']
    table.index(['workspace_id', ...filters], 'accepted_scans_redeemed')
  })
  await (postgres ? appendOnlyPostgres(db) : appendOnlySqlite(db))
}

async function appendOnlySqlite(db: Knex): Promise<void> {
  for (const change of ['update', 'delete']) {
    await db.raw(`create trigger scans_no_${change} before ${change} on scans
      begin select raise(abort, 'the ledger of scans is append-only'); end`)
  }
}

async function appendOnlyPostgres(db: Knex): Promise<void> {
  await db.raw(`create function refuse_ledger_change() returns trigger language plpgsql as
    $$ begin raise exception 'the ledger of scans is append-only'; end $$`)
  await db.raw(`create trigger scans_append_only before update or delete or truncate on scans
    for each statement execute function refuse_ledger_change()`)
}
