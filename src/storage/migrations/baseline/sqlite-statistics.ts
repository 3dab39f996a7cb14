import type { Knex } from 'knex'
import { inDialect } from '../../db/dialect.ts'

const TABLE = 10_000_000
const WORKSPACE = 1_000_000

/** Rows that remain after each column of an index, per index. */
const statistics: Record<string, Record<string, string>> = {
  passes: {
    passes_workspace_id_id_index: `${TABLE} ${WORKSPACE} 1`,
    passes_workspace_id_external_pass_id_unique: `${TABLE} ${WORKSPACE} 1`,
    passes_workspace_id_updated_at_id_index: `${TABLE} ${WORKSPACE} 1 1`,
    passes_workspace_id_status_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_template_id_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_project_id_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_template_version_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_revision_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_expiry_key_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_by_label: `${TABLE} ${WORKSPACE} 1 1`,
    passes_by_group_key: `${WORKSPACE} 100000 5 1`,
    passes_of_group: `${WORKSPACE} 5 1`,
    passes_installable_of_group: `${WORKSPACE} 4 1`,
    passes_by_change: `${TABLE} ${WORKSPACE} 1 1`,
    passes_erased_by_change: '10000 1000 1',
  },
  held_passes: {
    sqlite_autoindex_held_passes_1: `${TABLE} ${WORKSPACE} 1`,
    held_passes_at_apple: '5000000 500000 1',
    held_passes_at_google: '5000000 500000 1',
  },
}

/**
 * Tells SQLite what a large workspace looks like: a million rows of ten. Without statistics it plans as if a workspace had
 * ten passes. PostgreSQL collects its own.
 */
export async function setStatistics(db: Knex): Promise<void> {
  await inDialect(db, { sqlite: insertStatistics })
}

async function insertStatistics(db: Knex): Promise<void> {
  // The table of statistics appears with the first analysis.
  await db.raw('analyze settings')
  await db.raw('delete from sqlite_stat1')
  for (const [tbl, indexes] of Object.entries(statistics)) {
    await db('sqlite_stat1').insert(Object.entries(indexes).map(([idx, stat]) => ({ tbl, idx, stat })))
  }
  await db.raw('analyze sqlite_schema')
}
