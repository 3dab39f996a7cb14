import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'
import {
  columnTypes,
  createTrigger,
  keepAppendOnly,
  keeps,
  keepsAllExcept,
  QUEUE_VACUUM,
  setStorage,
} from './columns.ts'

export async function createScans(db: Knex): Promise<void> {
  await createLedger(db)
  await protectLedger(db)
  await createAcceptedScans(db)
  await createSnapshots(db)
  await createDoors(db)
}

async function createLedger(db: Knex): Promise<void> {
  const { sortedText, bytes } = columnTypes(db)
  await db.schema.createTable('scans', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    // The result in the ledger. `reason_code` is the reason in the response to the scanner.
    table.text('result').notNullable()
    table.text('reason')
    table.text('reason_code')
    table.text('message').notNullable()
    table.text('verified').notNullable()
    // The pass at the time of the scan. No foreign keys, because the ledger outlives the rows that it describes.
    table.uuid('pass_id')
    table.text('external_pass_id')
    table.uuid('project_id')
    table.uuid('template_id')
    table.uuid('template_version_id')
    table.text('redemption')
    table.integer('matched_count').notNullable()
    table.integer('prior_count').notNullable()
    // The digest of the scanned code, by which a replay finds all passes that matched.
    table.specificType('payload_digest', bytes)
    table.specificType('scan_context_key', sortedText)
    table.bigInteger('scanned_at').notNullable()
    table.bigInteger('recorded_at').notNullable()
    // The time that the device sent, if it was outside the accepted range.
    table.bigInteger('device_time')
    table.text('device_id')
    table.uuid('token_id')
    table.text('external_ref')
    table.text('context')
    table.text('conflict')
    table.text('validate_as_of')
    table.uuid('reverses_scan_id').unique()
    table.text('reversal_reason')
    table.uuid('zone_id')
    table.text('direction')
    // For an accepted re-entry, the earlier scan that debited the use.
    table.uuid('use_scan_id')
    // Whether the entry is in its evidence chain, or queued for it. An erasure stores the commitment to the erased
    // values and deletes the salt, so that the values cannot be guessed from the commitment.
    table.boolean('chained').notNullable().defaultTo(false)
    table.specificType('salt', bytes)
    table.specificType('commitment', bytes)
    table.unique(['workspace_id', 'external_ref'])
    table.index(['workspace_id', 'scanned_at', 'id'])
    for (const filter of ['pass_id', 'template_id', 'result', 'reason', 'scan_context_key']) {
      table.index(['workspace_id', filter, 'scanned_at', 'id'])
    }
    // With the columns after the ID, the statistics of a project read only this index, not the table.
    table.index(['workspace_id', 'project_id', 'scanned_at', 'id', 'result', 'scan_context_key', 'template_id'])
  })
}

/** The columns that are cleared when the data of a holder is erased. */
const PERSONAL = ['external_pass_id', 'payload_digest', 'context', 'reversal_reason', 'message']

/**
 * Makes the ledger append-only. Allows only two kinds of updates: an erasure, and the change that marks an entry as
 * chained and sets its salt.
 */
async function protectLedger(db: Knex): Promise<void> {
  const isFactual = await keepsAllExcept(db, 'scans', [...PERSONAL, 'chained', 'salt', 'commitment'])
  const isErased = PERSONAL.map((column) => `new.${column} ${column === 'message' ? `= 'Erased.'` : 'is null'}`)
  const isAllowed = `${isFactual} and ((${isErased.join(' and ')} and new.salt is null and ${keeps(['chained'])})
    or (${keeps(PERSONAL)} and old.salt is null and new.commitment is null and not old.chained and new.chained))`
  await keepAppendOnly(db, 'scans', isAllowed, 'the ledger of scans is')
}

/** Creates the table of accepted scans that were not reversed. */
async function createAcceptedScans(db: Knex): Promise<void> {
  const { sortedText } = columnTypes(db)
  await db.schema.createTable('accepted_scans', (table) => {
    table.uuid('scan_id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id')
    table.uuid('project_id')
    table.uuid('template_id')
    table.specificType('scan_context_key', sortedText).notNullable()
    table.bigInteger('scanned_at').notNullable()
    // The key of the window whose limit was debited; null unless several windows contain the time of the scan.
    table.text('debited_window')
    // The date for which the scan was evaluated, if any. The time of day in `scanned_at` is then meaningless.
    table.text('validity_date')
    table.index(['workspace_id', 'pass_id', 'scanned_at', 'debited_window'], 'accepted_scans_by_time')
    table.index(['workspace_id', 'pass_id', 'scan_context_key', 'scanned_at'], 'accepted_scans_by_context')
    const filters = ['project_id', 'scan_context_key', 'scanned_at', 'pass_id', 'template_id']
    table.index(['workspace_id', ...filters], 'accepted_scans_redeemed')
  })
}

/** Creates the table of snapshots that doors downloaded, with the change positions at the time of the download. */
async function createSnapshots(db: Knex): Promise<void> {
  const { position, visible } = columnTypes(db)
  await db.schema.createTable('scanner_snapshots', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('project_id')
    table.bigInteger('made_at').notNullable()
    for (const bound of ['changed_from', 'changed_to', 'scanned_from', 'scanned_to']) {
      table.specificType(bound, position).notNullable()
    }
    table.specificType('seen', visible)
  })
  await inDialect(db, { postgres: keepPositionsPostgres, sqlite: keepPositionsSqlite })
}

/** The columns of a pass that a door's snapshot contains, or by which passes are selected for a snapshot. */
const SHOWN = [
  'external_pass_id',
  'label',
  'status',
  'expires_at',
  'redemption',
  'variables',
  'template_version_id',
  'balance_sums',
  'group_id',
  'project_id',
  'scan_code',
  'erased_at',
].join(', ')

async function keepPositionsPostgres(db: Knex): Promise<void> {
  const record = (column: string) => `new.${column} := pg_current_xact_id(); return new;`
  const onPasses = `before update of ${SHOWN} on passes for each row`
  await createTrigger(db, 'passes_in_order', onPasses, record('change_position'))
  const onTemplates = 'before update of name on templates for each row when (old.name <> new.name)'
  await createTrigger(db, 'templates_in_order', onTemplates, record('name_position'))
}

async function keepPositionsSqlite(db: Knex): Promise<void> {
  const last = (table: string, column: string) =>
    `coalesce((select max(${column}) from ${table} where workspace_id = new.workspace_id and ${column} is not null), 0)`
  const next = `1 + max(${last('passes', 'change_position')}, ${last('templates', 'name_position')})`
  const update = `update passes set change_position = ${next} where row_number = new.row_number`
  await db.raw(`create trigger passes_in_order_insert after insert on passes begin ${update}; end`)
  await db.raw(`create trigger passes_in_order after update of ${SHOWN} on passes begin ${update}; end`)
  await db.raw(`create trigger templates_in_order after update of name on templates when old.name <> new.name begin
    update templates set name_position = ${next} where id = new.id; end`)
}

async function createDoors(db: Knex): Promise<void> {
  await db.schema.createTable('door_invitations', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('project_id').notNullable().references('projects.id').index()
    table.text('gate').notNullable()
    table.text('code_digest').notNullable().unique()
    table.integer('uses_left').notNullable()
    table.bigInteger('expires_at').notNullable().index()
  })
  // The ID of a door is the ID of its token, which also has the door's name, creation, expiry, and revocation.
  await db.schema.createTable('doors', (table) => {
    table.uuid('id').primary().references('tokens.id')
    table.uuid('workspace_id').notNullable()
    // No foreign key, because the door remains after its project is deleted.
    table.uuid('project_id').notNullable().index()
    table.text('gate').notNullable()
    table.uuid('zone_id')
    table.text('direction')
    table.bigInteger('last_seen_at').notNullable().index()
    table.text('version')
    table.integer('pending_scans')
    table.index(['workspace_id', 'id'])
  })
  await db.raw('create index doors_pending on doors (pending_scans) where pending_scans > 0')
}

/** Creates the hash chains over the scan ledger and the audit log. */
export async function createEvidence(db: Knex): Promise<void> {
  const { bytes } = columnTypes(db)
  // Index the entries that were not queued for their chain when they were written, so that `Chains.adopt` finds them.
  for (const table of ['scans', 'audit_entries']) {
    await db.raw(`create index ${table}_unchained on ${table} (id) where not chained`)
  }

  // Entries that wait to be chained. A row has the entries of one statement, or of one call of `Chains.adopt`.
  await db.schema.createTable('chain_pending', (table) => {
    table.uuid('id').primary()
    // The workspace; a UUID of zeros for entries about the whole database.
    table.uuid('workspace_id').notNullable()
    table.text('chain').notNullable()
    table.boolean('adopted').notNullable()
    table.text('entry_ids').notNullable()
  })
  await setStorage(db, 'chain_pending', QUEUE_VACUUM)

  // Entries that were chained together: their IDs (16 bytes each) and digests (32 bytes each), in the same order.
  await db.schema.createTable('chain_blocks', (table) => {
    table.uuid('workspace_id').notNullable()
    table.text('chain').notNullable()
    table.bigInteger('first_sequence').notNullable()
    table.boolean('adopted').notNullable()
    table.specificType('entry_ids', bytes).notNullable()
    table.specificType('digests', bytes).notNullable()
    table.primary(['workspace_id', 'chain', 'first_sequence'])
  })

  const addHead = (table: Knex.CreateTableBuilder) => {
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
    addHead(table)
    table.primary(['workspace_id', 'chain'])
  })
  await setStorage(db, 'chain_heads', 'fillfactor = 50')
  // The last signed head of a chain in each hour.
  await db.schema.createTable('chain_signed_heads', (table) => {
    addHead(table)
    table.bigInteger('hour').notNullable()
    table.primary(['workspace_id', 'chain', 'hour'])
  })
  await db.schema.createTable('chain_keys', (table) => {
    table.uuid('workspace_id').primary()
    table.text('public_key').notNullable()
    table.text('sealed_key').notNullable()
  })
}
