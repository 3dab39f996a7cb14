import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** What the ledger tells of an attempt whoever the holder was: it never changes. */
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

/** What may be taken out of it, for good. */
const personal = ['external_pass_id', 'payload_digest', 'context', 'reversal_reason']

/** The data of a holder can be erased; everything else about the ledger stays as append-only as it was. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('passes', (table) => {
    table.bigInteger('erased_at')
  })
  await db.raw('create index passes_erased on passes (erased_at) where erased_at is not null')
  await db.raw('create index webhook_deliveries_by_event on webhook_deliveries (event_id)')
  const same = isPostgres(db) ? 'is not distinct from' : 'is'
  const kept = verdict.map((column) => `new.${column} ${same} old.${column}`)
  const erased = personal.map((column) => `new.${column} is null`)
  const isErasure = [...kept, ...erased, `new.message = 'Erased.'`].join(' and ')
  await (isPostgres(db) ? allowErasurePostgres(db, isErasure) : allowErasureSqlite(db, isErasure))
}

async function allowErasurePostgres(db: Knex, isErasure: string): Promise<void> {
  await db.raw('drop trigger scans_append_only on scans')
  await db.raw(`create trigger scans_no_delete before delete or truncate on scans
    for each statement execute function refuse_ledger_change()`)
  await db.raw(`create trigger scans_no_update before update on scans
    for each row when (not (${isErasure})) execute function refuse_ledger_change()`)
}

async function allowErasureSqlite(db: Knex, isErasure: string): Promise<void> {
  await db.raw('drop trigger scans_no_update')
  await db.raw(`create trigger scans_no_update before update on scans when not (${isErasure})
    begin select raise(abort, 'the ledger of scans is append-only'); end`)
  // Until now only labels changed.
  await db.raw('drop trigger passes_search_update')
  await db.raw(`create trigger passes_search_update after update of label_folded, external_folded on passes
    when old.label_folded <> new.label_folded or old.external_folded <> new.external_folded begin
      insert into pass_search (pass_search, rowid, label_folded, external_folded)
        values ('delete', old.row_number, old.label_folded, old.external_folded);
      insert into pass_search (rowid, label_folded, external_folded)
        values (new.row_number, new.label_folded, new.external_folded);
    end`)
}
