import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'
import { createFunctions } from './0030-counts.ts'

/**
 * Whether a pass was let in before is looked up by its key. The functions of before let PostgreSQL join with all scans
 * instead, by a plan that it kept from when there were few, so that each set of scans read every one of the workspace.
 */
export async function up(db: Knex): Promise<void> {
  if (isPostgres(db)) await createFunctions(db)
}
