import type { Delivery } from '../core/contract/deliveries.ts'
import type { DeliveryProgress } from '../core/rules/delivery.ts'
import { moment } from './moment.ts'

/** A delivery as it is kept. */
export interface StoredDelivery extends DeliveryProgress {
  id: string
  workspaceId: string
  webhookId: string
  eventId: string
  eventType: Delivery['eventType']
  /** Of the endpoint, at the time that the delivery was queued. */
  generation: number
  createdAt: Date
  updatedAt: Date
}

export interface DeliveryRow {
  id: string
  workspace_id: string
  webhook_id: string
  event_id: string
  event_type: Delivery['eventType']
  generation: number
  status: Delivery['status']
  due_at: number | null
  scheduled_attempts: number
  is_redelivery: boolean | number
  resume_at: number | null
  attempt_count: number
  last_response_code: number | null
  last_error: string | null
  created_at: number
  updated_at: number
}

export function toDelivery(row: DeliveryRow): StoredDelivery {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    eventType: row.event_type,
    generation: row.generation,
    status: row.status,
    dueAt: moment(row.due_at),
    scheduledAttempts: row.scheduled_attempts,
    isRedelivery: Boolean(row.is_redelivery),
    resumeAt: moment(row.resume_at),
    attemptCount: row.attempt_count,
    lastResponseCode: row.last_response_code,
    lastError: row.last_error,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
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
    status: delivery.status,
    due_at: delivery.dueAt?.getTime() ?? null,
    scheduled_attempts: delivery.scheduledAttempts,
    is_redelivery: delivery.isRedelivery,
    resume_at: delivery.resumeAt?.getTime() ?? null,
    attempt_count: delivery.attemptCount,
    last_response_code: delivery.lastResponseCode,
    last_error: delivery.lastError,
    created_at: delivery.createdAt.getTime(),
    updated_at: delivery.updatedAt.getTime(),
  }
}
