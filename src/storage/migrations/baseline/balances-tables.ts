import type { Knex } from 'knex'
import { keepAppendOnly, keepsAllExcept } from './columns.ts'

/** Creates the table of balance entries. The sums of the entries are in `passes.balance_sums`. */
export async function createBalances(db: Knex): Promise<void> {
  await db.schema.createTable('balance_entries', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id')
    table.text('name').notNullable()
    table.bigInteger('delta').notNullable()
    // The value of the balance after the entry.
    table.bigInteger('value').notNullable()
    // The caller's reference; null for the entries of scans.
    table.text('external_ref')
    table.text('reason')
    // The scan, or the reversal of a scan, that wrote the entry.
    table.uuid('scan_id')
    table.uuid('reverses_entry_id').unique()
    table.bigInteger('created_at').notNullable()
    table.unique(['workspace_id', 'pass_id', 'name', 'external_ref'])
    // This index lists the entries of a balance in the order of creation, because IDs ascend with the time.
    table.index(['workspace_id', 'pass_id', 'name', 'id'])
  })
  await db.raw(
    'create unique index balance_entries_of_scan on balance_entries (scan_id, name) where scan_id is not null',
  )
  // An erasure can remove the reason, which is free text.
  const isErased = `${await keepsAllExcept(db, 'balance_entries', ['reason'])} and new.reason is null`
  await keepAppendOnly(db, 'balance_entries', isErased, 'entries of balances are')
}
