import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** Their rows come and go with the work. */
const QUEUES = ['jobs', 'pending_events', 'webhook_deliveries']

/**
 * What is left of rows that were done is cleared away when it comes to a hundredth of the table, and ten times as quickly as by
 * default: whoever looks for work steps over it until then. By default PostgreSQL waits for a fifth of the table.
 */
export async function up(db: Knex): Promise<void> {
  if (!isPostgres(db)) return
  for (const table of QUEUES) {
    await db.raw(`alter table ${table} set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.01,
      autovacuum_vacuum_cost_limit = 2000)`)
  }
}
