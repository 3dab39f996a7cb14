import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/**
 * The order in which what scanners know of passes changes (decisions/0049), given by the database itself, so that a server of
 * the version before is followed, too. On PostgreSQL the place of a change is the transaction that made it, as of events; on
 * SQLite, whose writers take turns, it counts on from the last change of the workspace. Scans need no place here: their
 * events have one.
 */
export async function up(db: Knex): Promise<void> {
  const [uuid, position] = isPostgres(db) ? ['uuid', 'xid8'] : ['text', 'bigint']
  // Null on what did not change since: no list of before is followed.
  await db.raw(`alter table passes add column change_position ${position}`)
  await db.raw(`alter table templates add column name_position ${position}`)
  await db.raw(`create index passes_by_change on passes (workspace_id, change_position, id)
    where change_position is not null`)
  await db.raw(`create index templates_by_name_change on templates (workspace_id, name_position)
    where name_position is not null`)
  // Lists that were given out, and what had changed by then.
  await db.raw(`create table scanner_snapshots (
    id ${uuid} primary key,
    workspace_id ${uuid} not null,
    project_id ${uuid},
    made_at bigint not null,
    changed_from ${position} not null,
    changed_to ${position} not null,
    scanned_from ${position} not null,
    scanned_to ${position} not null,
    seen ${isPostgres(db) ? 'pg_snapshot' : 'text'}
  )`)
  await (isPostgres(db) ? orderOnPostgres(db) : orderOnSqlite(db))
}

/** Columns that a scanner's list shows something of, or is made by. */
const SHOWN = [
  'external_pass_id',
  'label',
  'status',
  'expires_at',
  'redemption',
  'variables',
  'template_version_id',
  'group_id',
  'project_id',
  'scan_code',
  'erased_at',
].join(', ')

async function orderOnPostgres(db: Knex): Promise<void> {
  await db.raw('alter table passes alter column change_position set default pg_current_xact_id()')
  await db.raw(`create function note_pass_change() returns trigger language plpgsql as $$
    begin new.change_position := pg_current_xact_id(); return new; end $$`)
  await db.raw(`create trigger passes_in_order before update of ${SHOWN} on passes
    for each row execute function note_pass_change()`)
  await db.raw(`create function note_name_change() returns trigger language plpgsql as $$
    begin new.name_position := pg_current_xact_id(); return new; end $$`)
  await db.raw(`create trigger templates_in_order before update of name on templates
    for each row when (old.name <> new.name) execute function note_name_change()`)
}

async function orderOnSqlite(db: Knex): Promise<void> {
  const last = (table: string, column: string) =>
    `coalesce((select max(${column}) from ${table} where workspace_id = new.workspace_id and ${column} is not null), 0)`
  const next = `1 + max(${last('passes', 'change_position')}, ${last('templates', 'name_position')})`
  const place = `update passes set change_position = ${next} where row_number = new.row_number`
  await db.raw(`create trigger passes_in_order_insert after insert on passes begin ${place}; end`)
  await db.raw(`create trigger passes_in_order after update of ${SHOWN} on passes begin ${place}; end`)
  await db.raw(`create trigger templates_in_order after update of name on templates when old.name <> new.name begin
    update templates set name_position = ${next} where id = new.id; end`)
  // A workspace may have any number of passes; of each place it has one.
  await db('sqlite_stat1').insert({ tbl: 'passes', idx: 'passes_by_change', stat: '10000000 1000000 1 1' })
  await db.raw('analyze sqlite_schema')
}
