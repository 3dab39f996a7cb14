import type { Knex } from 'knex'
import type { DeliveryProgress } from '../../core/rules/sending/delivery.ts'
import { type Columns, type Row, updateRows } from '../db/bulk-rows.ts'
import { toProgressRow } from './delivery-row.ts'

const PROGRESS: Columns = {
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

interface Progressed {
  id: string
  progress: DeliveryProgress
}

/** Writes the progress of deliveries that the caller holds. */
export async function writeProgress(db: Knex, workspaceId: string, deliveries: Progressed[], at: Date): Promise<void> {
  const changes = deliveries.map(({ id, progress }) => ({ id, set: changeOf(progress, at) }))
  await updateRows(db, workspaceId, { name: 'progress', table: TABLE, set: CHANGED }, changes)
}

/** As writeProgress, of those that still stand as they were read; returns their ids. */
export function writeProgressOfUnchanged(
  db: Knex,
  workspaceId: string,
  deliveries: (Progressed & { read: DeliveryProgress })[],
  at: Date,
): Promise<Set<string>> {
  const changes = deliveries.map(({ id, progress, read }) => ({
    id,
    set: changeOf(progress, at),
    read: { ...toProgressRow(read) },
  }))
  const update = { name: 'progress-of-unchanged', table: TABLE, set: CHANGED, read: READ }
  return updateRows(db, workspaceId, update, changes)
}

const TABLE = 'webhook_deliveries'
const CHANGED: Columns = { ...PROGRESS, updated_at: 'bigint' }

/** A redelivery, an attempt, and an end each change one of these at least. */
const READ: Columns = { status: 'text', due_at: 'bigint', is_redelivery: 'boolean', attempt_count: 'integer' }

function changeOf(progress: DeliveryProgress, at: Date): Row {
  return { ...toProgressRow(progress), updated_at: at.getTime() }
}
