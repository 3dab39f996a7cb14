import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'
import { hourOf } from './0030-counts.ts'

/**
 * What happens in projects, counted by the hour in the transaction that does it, whatever code it is. As with counts, a
 * transaction of PostgreSQL counts in a slot of its own, so that nobody waits for another's; hours that are over are packed,
 * a row for each project and four weeks (decisions/0069).
 */
export async function up(db: Knex): Promise<void> {
  const [uuid, sorted, bytes] = isPostgres(db) ? ['uuid', 'text collate "C"', 'bytea'] : ['text', 'text', 'blob']
  await db.raw(`create table figures (
    workspace_id ${uuid} not null,
    project_id ${uuid} not null,
    hour bigint not null,
    figure ${sorted} not null,
    slot integer not null,
    n bigint not null,
    primary key (workspace_id, project_id, hour, figure, slot)
  ) ${isPostgres(db) ? 'with (fillfactor = 50)' : 'without rowid'}`)
  await db.raw('create index figures_by_hour on figures (hour)')
  // With row numbers: without, SQLite would leave a third of the space beside such large rows unused.
  await db.raw(`create table packed_figures (
    workspace_id ${uuid} not null,
    project_id ${uuid} not null,
    block integer not null,
    packed ${bytes} not null,
    primary key (workspace_id, project_id, block)
  )`)
  for (const source of sources(db)) await (isPostgres(db) ? countOnPostgres(db, source) : countOnSqlite(db, source))
  // Behind the triggers, as with counts: on PostgreSQL they keep whoever writes waiting until the end.
  for (const { table, parts, isCounted, onUpdate } of sources(db)) {
    if (onUpdate) continue
    await db.raw(
      add(
        `select ${parts('one').join(', ')}, 0, count(*) from ${table} one where ${isCounted('one')} group by 1, 2, 3, 4`,
      ),
    )
  }
}

/** Rows that are a fact when they are written, or when a column of them changes. */
interface Source {
  name: string
  table: string
  /** Workspace, project, hour and figure of a row, in SQL. */
  parts: (row: string) => [workspace: string, project: string, hour: string, figure: string]
  isCounted: (row: string) => string
  /** Counts updates in place of inserts: the column that tells whether there was one, and the key of the row. */
  onUpdate?: { column: string; key: string[]; isNews: (before: string, after: string) => string }
}

/** The project of the pass that a row is about, as it is in this moment. */
const projectOf = (row: string, pass: string) => `(select project_id from passes where passes.id = ${row}.${pass})`

function sources(db: Knex): Source[] {
  const platformOf = (row: string) =>
    isPostgres(db) ? `(cast(${row}.data as json) ->> 'platform')` : `json_extract(${row}.data, '$.platform')`
  const fetched = (figure: string, version: string, at: string): Source => ({
    name: figure,
    table: 'apple_registrations',
    parts: (row) => [`${row}.workspace_id`, projectOf(row, 'pass_id'), hourOf(`${row}.${at}`), `'${figure}'`],
    isCounted: (row) => `${row}.${at} is not null and ${projectOf(row, 'pass_id')} is not null`,
    onUpdate: {
      column: version,
      key: ['device_id', 'pass_id'],
      isNews: (before, after) => `${after}.${version} > ${before}.${version}`,
    },
  })
  return [
    {
      name: 'events',
      table: 'events',
      parts: (row) => [
        `${row}.workspace_id`,
        projectOf(row, 'subject'),
        hourOf(`${row}.created_at`),
        `case ${row}.type when 'pass.issued' then 'issued' when 'pass.voided' then 'voided' when 'pass.updated' then 'updated'
          when 'pass.installed' then 'installed/' || ${platformOf(row)} else 'removed/' || ${platformOf(row)} end`,
      ],
      isCounted: (row) =>
        `${row}.type in ('pass.issued', 'pass.voided', 'pass.updated', 'pass.installed', 'pass.removed')
          and ${projectOf(row, 'subject')} is not null`,
    },
    scanSource(),
    fetched('pushed', 'pushed_version', 'pushed_at'),
    fetched('fetched', 'fetched_version', 'fetched_at'),
    {
      name: 'notified',
      table: 'notifications',
      parts: (row) => [`${row}.workspace_id`, projectOf(row, 'pass_id'), hourOf(`${row}.updated_at`), `'notified'`],
      isCounted: (row) => `${isSent(row)} and ${projectOf(row, 'pass_id')} is not null`,
      onUpdate: { column: 'apple_status, google_status', key: ['id'], isNews: (before) => `not ${isSent(before)}` },
    },
  ]
}

/** Attempts, of which the ledger tells for good. */
export function scanSource(): Source {
  return {
    name: 'scanned',
    table: 'scans',
    parts: (row) => [
      `${row}.workspace_id`,
      `${row}.project_id`,
      hourOf(`${row}.scanned_at`),
      `'scans/' || ${reasonCodeOf(row)}`,
    ],
    isCounted: (row) => `${row}.reason is not null and ${row}.project_id is not null`,
  }
}

/** As the ledger's answers say it, of what a device decided too (core/rules/redemption/scan-decision.ts). */
const reasonCodeOf = (
  row: string,
) => `coalesce(${row}.reason_code, case ${row}.reason when 'already_used' then 'already_scanned'
  when 'wrong_project' then 'wrong_scope' when 'unverifiable' then 'stale_identifier' else ${row}.reason end)`

const isSent = (row: string) => `(${row}.apple_status = 'SENT' or ${row}.google_status = 'SENT')`

const add = (rows: string) => `insert into figures (workspace_id, project_id, hour, figure, slot, n) ${rows}
  on conflict (workspace_id, project_id, hour, figure, slot) do update set n = figures.n + excluded.n`

async function countOnPostgres(db: Knex, { name, table, parts, isCounted, onUpdate }: Source): Promise<void> {
  const rows = onUpdate
    ? `added one join removed before on ${onUpdate.key.map((key) => `before.${key} = one.${key}`).join(' and ')}`
    : 'added one'
  const where = onUpdate ? `${onUpdate.isNews('before', 'one')} and ${isCounted('one')}` : isCounted('one')
  const sums = `select ${parts('one').join(', ')}, (select count_slot()), count(*) from ${rows} where ${where} group by 1, 2, 3, 4`
  await db.raw(`create function count_${name}_figures() returns trigger language plpgsql set enable_seqscan = off as $$
    begin ${add(sums)}; return null; end $$`)
  const when = onUpdate
    ? `after update on ${table} referencing old table as removed new table as added`
    : `after insert on ${table} referencing new table as added`
  await db.raw(
    `create trigger ${table}_${name}_figures ${when} for each statement execute function count_${name}_figures()`,
  )
}

async function countOnSqlite(db: Knex, { name, table, parts, isCounted, onUpdate }: Source): Promise<void> {
  const rows = add(`select ${parts('new').join(', ')}, 0, 1 where true`)
  const when = onUpdate
    ? `after update of ${onUpdate.column} on ${table} when ${onUpdate.isNews('old', 'new')} and ${isCounted('new')}`
    : `after insert on ${table} when ${isCounted('new')}`
  await db.raw(`create trigger "${name}-figures" ${when} begin ${rows}; end`)
}
