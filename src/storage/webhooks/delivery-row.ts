import type { Knex } from 'knex'
import type { Delivery, DeliveryStatus } from '../../core/contract/webhooks/deliveries.ts'
import { type AttemptFacts, type DeliveryProgress, envelopeText } from '../../core/rules/sending/retries.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'

export const PROGRESS = mapping({
  status: field.plain<DeliveryStatus>(),
  dueAt: field.optionalTime,
  scheduledAttempts: field.number,
  isRedelivery: field.flag,
  resumeAt: field.optionalTime,
  attemptCount: field.number,
  lastResponseCode: field.optionalNumber,
  lastError: field.optionalText,
})

const ENVELOPE = mapping({
  id: field.text,
  workspaceId: field.text,
  webhookId: field.text,
  eventId: field.text,
  eventType: field.plain<Delivery['eventType']>(),
  generation: field.number,
  createdAt: field.time,
  updatedAt: field.time,
})

export interface StoredDelivery extends RecordOf<typeof ENVELOPE>, DeliveryProgress {}

export type ProgressRow = RowOf<typeof PROGRESS>

export interface DeliveryRow extends RowOf<typeof ENVELOPE>, ProgressRow {}

export interface PayloadRow extends Pick<DeliveryRow, 'id' | 'event_type' | 'created_at'> {
  correlation_id: string | null
  data: string
}

export function toDelivery(row: DeliveryRow): StoredDelivery {
  return { ...ENVELOPE.read(row), ...PROGRESS.read(row) }
}

export function toDeliveryRow(delivery: StoredDelivery): DeliveryRow {
  return { ...ENVELOPE.write(delivery), ...PROGRESS.write(delivery) }
}

/** Returns the columns of a pending delivery that ends without another attempt. */
export function endedColumns(error: string, at: Date) {
  const end = { status: 'FAILED', dueAt: null, resumeAt: null, isRedelivery: false, lastError: error } as const
  return { ...PROGRESS.write(end), updated_at: at.getTime() }
}

/** Returns the body that every attempt sends. */
export function payloadOf(row: PayloadRow): string {
  const { id, event_type: type, correlation_id: correlationId } = row
  return envelopeText({ id, type, timestamp: new Date(row.created_at).toISOString(), correlationId }, row.data)
}

export interface DueDelivery {
  id: string
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
  /** The time just before the read, in milliseconds of `performance.now()`. The state is at least this recent. */
  seenAt: number
}

export interface CompletedAttempt extends AttemptFacts {
  delivery: Pick<DueDelivery, 'id' | 'progress'>
  startedAt: Date
  durationMs: number
}

export interface RecordedAttempt {
  /** The ID of the delivery. */
  id: string
  attempt: CompletedAttempt
  progress: DeliveryProgress
}

export async function insertAttempts(db: Knex, workspaceId: string, made: RecordedAttempt[]): Promise<void> {
  const rows = made.map(({ id, attempt: { startedAt, durationMs, outcome }, progress }) => ({
    ...ATTEMPT.write({ at: startedAt, durationMs, responseCode: outcome.responseCode, error: outcome.error }),
    workspace_id: workspaceId,
    delivery_id: id,
    number: progress.attemptCount,
  }))
  await insertRows(db, 'webhook_attempts', rows)
}

export const ATTEMPT = mapping({
  at: field.inColumn('started_at', field.time),
  durationMs: field.number,
  responseCode: field.optionalNumber,
  error: field.optionalText,
})

export interface StoredAttempt extends RecordOf<typeof ATTEMPT> {}
