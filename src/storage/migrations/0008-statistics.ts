import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

const TABLE = 10_000_000
const WORKSPACE = 1_000_000

/** Rows left by the columns behind the workspace. */
const rowsLeft = {
  id_index: '1',
  external_pass_id_unique: '1',
  label_id_index: '1 1',
  updated_at_id_index: '1 1',
  status_id_index: `${WORKSPACE} 1`,
  template_id_id_index: `${WORKSPACE} 1`,
  project_id_id_index: `${WORKSPACE} 1`,
  template_version_id_index: `${WORKSPACE} 1`,
  revision_id_index: `${WORKSPACE} 1`,
  expiry_key_id_index: `${WORKSPACE} 1`,
}

/**
 * Without statistics SQLite plans as if a workspace had ten passes. It is told what a large one looks like instead: a
 * million rows of ten, of which an equal id, externalPassId, label or time leaves few, and anything else may leave all.
 * PostgreSQL gathers its own.
 */
export async function up(db: Knex): Promise<void> {
  if (isPostgres(db)) return
  // The table of statistics appears with the first that are gathered.
  await db.raw('analyze settings')
  await db.raw('delete from sqlite_stat1')
  const statistics = Object.entries(rowsLeft).map(([index, left]) => ({
    tbl: 'passes',
    idx: `passes_workspace_id_${index}`,
    stat: `${TABLE} ${WORKSPACE} ${left}`,
  }))
  await db('sqlite_stat1').insert(statistics)
  await db.raw('analyze sqlite_schema')
}
