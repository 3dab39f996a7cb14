import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'
import { type FigureSource, figureSources } from '../../operations/figure-sources.ts'
import { columnTypes } from './columns.ts'

/**
 * Creates the hourly figures of projects and the triggers that count them, in slots like the counters. Past hours are packed
 * into one row per project and four weeks (decisions/0002).
 */
export async function createFigures(db: Knex): Promise<void> {
  const { uuid, sortedText, bytes, ofCounts } = columnTypes(db)
  await db.raw(`create table figures (
    workspace_id ${uuid} not null,
    project_id ${uuid} not null,
    hour bigint not null,
    figure ${sortedText} not null,
    slot integer not null,
    n bigint not null,
    primary key (workspace_id, project_id, hour, figure, slot)
  ) ${ofCounts}`)
  await db.raw('create index figures_by_hour on figures (hour)')
  // With row IDs: without them, SQLite leaves a third of the space next to such large rows unused.
  await db.raw(`create table packed_figures (
    workspace_id ${uuid} not null,
    project_id ${uuid} not null,
    block integer not null,
    packed ${bytes} not null,
    primary key (workspace_id, project_id, block)
  )`)
  for (const source of figureSources(db))
    await inDialect(db, { postgres: () => countOnPostgres(db, source), sqlite: () => countOnSqlite(db, source) })
}

const add = (rows: string) => `insert into figures (workspace_id, project_id, hour, figure, slot, n) ${rows}
  on conflict (workspace_id, project_id, hour, figure, slot) do update set n = figures.n + excluded.n`

async function countOnPostgres(db: Knex, { name, table, parts, isCounted, onUpdate }: FigureSource): Promise<void> {
  const rows = onUpdate
    ? `added one join removed before on ${onUpdate.key.map((key) => `before.${key} = one.${key}`).join(' and ')}`
    : 'added one'
  const where = onUpdate ? `${onUpdate.isChange('before', 'one')} and ${isCounted('one')}` : isCounted('one')
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

async function countOnSqlite(db: Knex, { name, table, parts, isCounted, onUpdate }: FigureSource): Promise<void> {
  const rows = add(`select ${parts('new').join(', ')}, 0, 1 where true`)
  const when = onUpdate
    ? `after update of ${onUpdate.column} on ${table} when ${onUpdate.isChange('old', 'new')} and ${isCounted('new')}`
    : `after insert on ${table} when ${isCounted('new')}`
  await db.raw(`create trigger "${name}-figures" ${when} begin ${rows}; end`)
}
