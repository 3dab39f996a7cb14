import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** What the ledger never changes (device_time has a trigger of its own), and what an erasure takes out of it. */
const verdict = [
  'id',
  'workspace_id',
  'result',
  'reason',
  'reason_code',
  'verified',
  'pass_id',
  'project_id',
  'template_id',
  'template_version_id',
  'redemption',
  'matched_count',
  'prior_count',
  'scan_context_key',
  'scanned_at',
  'recorded_at',
  'device_id',
  'external_ref',
  'conflict',
  'validate_as_of',
  'reverses_scan_id',
  'token_id',
]
const personal = ['external_pass_id', 'payload_digest', 'context', 'reversal_reason', 'message']

/** Chains of digests over the ledger of scans and the audit log. What stands there already is chained next, and marked so. */
export async function up(db: Knex): Promise<void> {
  const bytes = isPostgres(db) ? 'bytea' : 'blob'
  const no = isPostgres(db) ? 'false' : '0'
  // What was handed to a chain by whoever wrote it. The rest is of before, or of an older server beside newer ones.
  for (const table of ['scans', 'audit_entries']) {
    await db.schema.alterTable(table, (columns) => {
      columns.boolean('chained').notNullable().defaultTo(false)
    })
    await db.raw(`create index ${table}_unchained on ${table} (id) where chained = ${no}`)
  }
  await db.schema.alterTable('scans', (table) => {
    // Hides what an erasure may take out, which deletes it and leaves a digest in its place.
    table.specificType('salt', bytes)
    table.specificType('commitment', bytes)
  })
  await (isPostgres(db) ? allowChainingPostgres(db) : allowChainingSqlite(db))
  // Entries that were written and are not in their chains yet: those of a statement in a row.
  await db.schema.createTable('chain_pending', (table) => {
    table.uuid('id').primary()
    // All zeros for what concerns the whole database.
    table.uuid('workspace_id').notNullable()
    table.text('chain').notNullable()
    table.boolean('adopted').notNullable()
    table.text('entry_ids').notNullable()
  })
  // Entries that were chained at once, from the first sequence on: ids of 16 bytes, digests of 32, in their order.
  await db.schema.createTable('chain_blocks', (table) => {
    table.uuid('workspace_id').notNullable()
    table.text('chain').notNullable()
    table.bigInteger('first_sequence').notNullable()
    table.boolean('adopted').notNullable()
    table.specificType('entry_ids', bytes).notNullable()
    table.specificType('digests', bytes).notNullable()
    table.primary(['workspace_id', 'chain', 'first_sequence'])
  })
  const head = (table: Knex.CreateTableBuilder) => {
    table.uuid('workspace_id').notNullable()
    table.text('chain').notNullable()
    table.bigInteger('sequence').notNullable()
    table.specificType('digest', bytes).notNullable()
    table.bigInteger('base_sequence').notNullable()
    table.specificType('base_digest', bytes).notNullable()
    table.bigInteger('retained_from').notNullable()
    table.bigInteger('signed_at').notNullable()
    table.specificType('signature', bytes).notNullable()
  }
  await db.schema.createTable('chain_heads', (table) => {
    head(table)
    table.primary(['workspace_id', 'chain'])
  })
  // The last head of each hour.
  await db.schema.createTable('chain_signed_heads', (table) => {
    head(table)
    table.bigInteger('hour').notNullable()
    table.primary(['workspace_id', 'chain', 'hour'])
  })
  await db.schema.createTable('chain_keys', (table) => {
    table.uuid('workspace_id').primary()
    table.text('public_key').notNullable()
    table.text('sealed_key').notNullable()
  })
  if (!isPostgres(db)) return
  await db.raw(`alter table chain_pending set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_limit = 2000)`)
  await db.raw('alter table chain_heads set (fillfactor = 50)')
}

/** An erasure, or an entry that gets its salt as it is chained; everything else about the ledger stays append-only. */
function isAllowed(same: string): string {
  const isSame = (columns: string[]) => columns.map((column) => `new.${column} ${same} old.${column}`).join(' and ')
  const isErased = personal.map((column) => `new.${column} ${column === 'message' ? `= 'Erased.'` : 'is null'}`)
  return `${isSame(verdict)} and ((${isErased.join(' and ')} and new.salt is null and ${isSame(['chained'])})
    or (${isSame(personal)} and old.salt is null and new.commitment is null and not old.chained and new.chained))`
}

async function allowChainingPostgres(db: Knex): Promise<void> {
  await db.raw('drop trigger scans_no_update on scans')
  await db.raw(`create trigger scans_no_update before update on scans
    for each row when (not (${isAllowed('is not distinct from')})) execute function refuse_ledger_change()`)
}

async function allowChainingSqlite(db: Knex): Promise<void> {
  await db.raw('drop trigger scans_no_update')
  await db.raw(`create trigger scans_no_update before update on scans when not (${isAllowed('is')})
    begin select raise(abort, 'the ledger of scans is append-only'); end`)
}
