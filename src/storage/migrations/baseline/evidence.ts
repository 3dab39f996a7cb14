import type { Knex } from 'knex'
import { columnTypes, QUEUE_VACUUM, setStorage } from './columns.ts'

/** Creates the hash chains over the scan ledger and the audit log. */
export async function createEvidence(db: Knex): Promise<void> {
  const { bytes } = columnTypes(db)
  // Entries that no writer handed to a chain.
  for (const table of ['scans', 'audit_entries']) {
    await db.raw(`create index ${table}_unchained on ${table} (id) where not chained`)
  }

  // Entries that wait for their chain, those of one statement per row.
  await db.schema.createTable('chain_pending', (table) => {
    table.uuid('id').primary()
    // All zeros for entries about the whole database.
    table.uuid('workspace_id').notNullable()
    table.text('chain').notNullable()
    table.boolean('adopted').notNullable()
    table.text('entry_ids').notNullable()
  })
  await setStorage(db, 'chain_pending', QUEUE_VACUUM)

  // Entries that were chained together: IDs of 16 bytes and digests of 32 bytes, in order.
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
  // The last head of each hour.
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
