import type { Knex } from 'knex'
import type { DeliveryProgress } from '../core/rules/delivery.ts'
import { toProgressRow } from './delivery-row.ts'
import { type JsonColumns, updateJson } from './dialect.ts'

const PROGRESS: JsonColumns = {
  status: 'text',
  due_at: 'bigint',
  scheduled_attempts: 'integer',
  is_redelivery: 'boolean',
  resume_at: 'bigint',
  attempt_count: 'integer',
  last_response_code: 'integer',
  last_error: 'text',
}

/** What an attempt changes and what decides how it goes on. */
export const PROGRESS_COLUMNS = Object.keys(PROGRESS)

/** Writes the progress of deliveries that the caller holds. */
export async function writeProgress(
  db: Knex,
  deliveries: { id: string; progress: DeliveryProgress }[],
  at: Date,
): Promise<void> {
  const rows = deliveries.map(({ id, progress }) => ({ ...toProgressRow(progress), id, updated_at: at.getTime() }))
  await updateJson(db, 'webhook_deliveries', { ...PROGRESS, updated_at: 'bigint' }, rows)
}
