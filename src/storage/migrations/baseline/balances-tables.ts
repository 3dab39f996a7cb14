import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'

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
  await keepAppendOnly(db)
}

const FACTS = [
  'id',
  'workspace_id',
  'pass_id',
  'name',
  'delta',
  'value',
  'external_ref',
  'scan_id',
  'reverses_entry_id',
  'created_at',
]

/** Makes balance entries append-only, except that an erasure can remove the reason, which is free text. */
async function keepAppendOnly(db: Knex): Promise<void> {
  const isSame = FACTS.map((column) => `new.${column} is not distinct from old.${column}`).join(' and ')
  const isErased = `${isSame} and new.reason is null`
  const message = 'entries of balances are append-only'
  await inDialect(db, {
    async postgres() {
      await db.raw(`create function reject_entry_change() returns trigger language plpgsql as
        $$ begin raise exception '${message}'; end $$`)
      await db.raw(`create trigger balance_entries_no_delete before delete or truncate on balance_entries
        for each statement execute function reject_entry_change()`)
      await db.raw(`create trigger balance_entries_no_update before update on balance_entries
        for each row when (not (${isErased})) execute function reject_entry_change()`)
    },
    async sqlite() {
      const reject = `begin select raise(abort, '${message}'); end`
      await db.raw(`create trigger balance_entries_no_delete before delete on balance_entries ${reject}`)
      await db.raw(`create trigger balance_entries_no_update before update on balance_entries
        when not (${isErased}) ${reject}`)
    },
  })
}
