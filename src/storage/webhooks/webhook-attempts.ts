import type { Knex } from 'knex'
import type { Attempt } from '../../core/contract/deliveries.ts'
import type { AttemptFacts, DeliveryProgress } from '../../core/rules/sending/delivery.ts'
import { type Columns, insertRows } from '../db/bulk-rows.ts'

const ATTEMPT_COLUMNS: Columns = {
  workspace_id: 'uuid',
  delivery_id: 'uuid',
  number: 'integer',
  started_at: 'bigint',
  duration_ms: 'integer',
  response_code: 'integer',
  error: 'text',
}

/** A delivery whose attempt is due. */
export interface DueDelivery {
  id: string
  /** The text that every attempt sends. */
  payload: string
  /** As it was read. */
  progress: DeliveryProgress
}

/** One attempt that was made. */
export interface CompletedAttempt extends AttemptFacts {
  delivery: Pick<DueDelivery, 'id' | 'progress'>
  startedAt: Date
  durationMs: number
}

/** An attempt, and what it made of its delivery. */
export interface RecordedAttempt {
  /** Of the delivery. */
  id: string
  attempt: CompletedAttempt
  progress: DeliveryProgress
}

export async function insertAttempts(db: Knex, workspaceId: string, made: RecordedAttempt[]): Promise<void> {
  const rows = made.map(({ id, attempt, progress }) => ({
    workspace_id: workspaceId,
    delivery_id: id,
    number: progress.attemptCount,
    started_at: attempt.startedAt.getTime(),
    duration_ms: attempt.durationMs,
    response_code: attempt.outcome.responseCode,
    error: attempt.outcome.error,
  }))
  await insertRows(db, 'webhook_attempts', ATTEMPT_COLUMNS, rows)
}

/** An attempt as it is kept. */
export interface StoredAttempt extends Omit<Attempt, 'at'> {
  at: Date
}

/** Oldest first. */
export async function listAttempts(db: Knex, workspaceId: string, deliveryId: string): Promise<StoredAttempt[]> {
  const rows = await db('webhook_attempts')
    .where({ workspace_id: workspaceId, delivery_id: deliveryId })
    .orderBy('number')
  return rows.map((row) => ({
    at: new Date(row.started_at),
    durationMs: row.duration_ms,
    responseCode: row.response_code,
    error: row.error,
  }))
}
