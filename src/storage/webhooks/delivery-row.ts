import type { Knex } from 'knex'
import type { Attempt, Delivery } from '../../core/contract/deliveries.ts'
import { type AttemptFacts, type DeliveryProgress, envelopeText } from '../../core/rules/sending/retries.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { toDate } from '../db/dialect.ts'

export interface StoredDelivery extends DeliveryProgress {
  id: string
  workspaceId: string
  webhookId: string
  eventId: string
  eventType: Delivery['eventType']
  /** The generation of the endpoint when the delivery was queued. */
  generation: number
  createdAt: Date
  updatedAt: Date
}

/** The columns that attempts change. */
export interface ProgressRow {
  status: Delivery['status']
  due_at: number | null
  scheduled_attempts: number
  is_redelivery: boolean | number
  resume_at: number | null
  attempt_count: number
  last_response_code: number | null
  last_error: string | null
}

export interface DeliveryRow extends ProgressRow {
  id: string
  workspace_id: string
  webhook_id: string
  event_id: string
  event_type: Delivery['eventType']
  generation: number
  created_at: number
  updated_at: number
}

/** The columns from which a payload is built. */
export interface PayloadRow extends Pick<DeliveryRow, 'id' | 'event_type' | 'created_at'> {
  correlation_id: string | null
  data: string
}

export function toDelivery(row: DeliveryRow): StoredDelivery {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    eventType: row.event_type,
    generation: row.generation,
    ...toProgress(row),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

/** Returns the progress of a delivery from its row. */
export function toProgress(row: ProgressRow): DeliveryProgress {
  return {
    status: row.status,
    dueAt: toDate(row.due_at),
    scheduledAttempts: row.scheduled_attempts,
    isRedelivery: Boolean(row.is_redelivery),
    resumeAt: toDate(row.resume_at),
    attemptCount: row.attempt_count,
    lastResponseCode: row.last_response_code,
    lastError: row.last_error,
  }
}

export function toDeliveryRow(delivery: StoredDelivery): DeliveryRow {
  return {
    id: delivery.id,
    workspace_id: delivery.workspaceId,
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    generation: delivery.generation,
    ...toProgressRow(delivery),
    created_at: delivery.createdAt.getTime(),
    updated_at: delivery.updatedAt.getTime(),
  }
}

/** Returns the columns of a delivery's progress. */
export function toProgressRow(progress: DeliveryProgress): ProgressRow {
  return {
    status: progress.status,
    due_at: progress.dueAt?.getTime() ?? null,
    scheduled_attempts: progress.scheduledAttempts,
    is_redelivery: progress.isRedelivery,
    resume_at: progress.resumeAt?.getTime() ?? null,
    attempt_count: progress.attemptCount,
    last_response_code: progress.lastResponseCode,
    last_error: progress.lastError,
  }
}

/** Returns the body that every attempt sends. */
export function payloadOf(row: PayloadRow): string {
  const { id, event_type: type, correlation_id: correlationId } = row
  return envelopeText({ id, type, timestamp: new Date(row.created_at).toISOString(), correlationId }, row.data)
}

/** A delivery whose attempt is due. */
export interface DueDelivery {
  id: string
  /** The body that every attempt sends. */
  payload: string
  /** The progress as it was read. */
  progress: DeliveryProgress
  endpoint: SeenEndpoint
}

/** The state of an endpoint when one of its deliveries was read or created. */
export interface SeenEndpoint {
  generation: number
  erasures: number
  updatedAt: Date
  /** The time of the read, in milliseconds of `performance.now()`. The state is not older than that. */
  seenAt: number
}

export interface CompletedAttempt extends AttemptFacts {
  delivery: Pick<DueDelivery, 'id' | 'progress'>
  startedAt: Date
  durationMs: number
}

/** An attempt, and the resulting progress of its delivery. */
export interface RecordedAttempt {
  /** The ID of the delivery. */
  id: string
  attempt: CompletedAttempt
  progress: DeliveryProgress
}

/** Inserts attempts with one statement. */
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
  await insertRows(db, 'webhook_attempts', rows)
}

export interface StoredAttempt extends Omit<Attempt, 'at'> {
  at: Date
}

/** Returns the attempts, oldest first. */
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
