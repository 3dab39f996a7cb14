import type { Knex } from 'knex'
import type { DeliveryProgress } from '../core/rules/delivery.ts'
import { toProgressRow } from './delivery-row.ts'
import { type JsonColumns, updateJson } from './json-rows.ts'

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

interface Progressed {
  id: string
  progress: DeliveryProgress
}

/** Writes the progress of deliveries that the caller holds. */
export async function writeProgress(db: Knex, deliveries: Progressed[], at: Date): Promise<void> {
  await updateJson(db, 'webhook_deliveries', { name: 'progress', set: CHANGED }, deliveries.map(rowAt(at)))
}

/** As writeProgress, of those that still stand as they were read; returns their ids. */
export function writeProgressOfUnchanged(
  db: Knex,
  deliveries: (Progressed & { read: DeliveryProgress })[],
  at: Date,
): Promise<Set<string>> {
  const toRow = rowAt(at)
  const rows = deliveries.map(({ read, ...rest }) => ({
    ...toRow(rest),
    read_due_at: read.dueAt?.getTime(),
    read_redelivery: read.isRedelivery,
    read_count: read.attemptCount,
  }))
  const update = { name: 'progress-of-unchanged', set: CHANGED, given: READ, where: IS_UNCHANGED }
  return updateJson(db, 'webhook_deliveries', update, rows)
}

const CHANGED: JsonColumns = { ...PROGRESS, updated_at: 'bigint' }
const READ: JsonColumns = { read_due_at: 'bigint', read_redelivery: 'boolean', read_count: 'integer' }

/** A redelivery, an attempt, and an end each change one of these at least. */
const IS_UNCHANGED = [
  `webhook_deliveries.status = 'PENDING'`,
  'webhook_deliveries.due_at = given.read_due_at',
  'webhook_deliveries.is_redelivery = given.read_redelivery',
  'webhook_deliveries.attempt_count = given.read_count',
].join(' and ')

function rowAt(at: Date) {
  return ({ id, progress }: Progressed) => ({ ...toProgressRow(progress), id, updated_at: at.getTime() })
}
