import type { Delivery, DeliveryStatus } from '../../core/contract/webhooks/deliveries.ts'
import { newId } from '../../core/ids.ts'
import { afterAttempt, type DeliveryProgress, redelivered } from '../../core/rules/sending/retries.ts'
import { insertRows, isNotInJson, type RowsUpdate, updateRows } from '../db/bulk-rows.ts'
import { idIsChosen } from '../db/dialect.ts'
import { byId, type ListPage, type ListRequest, listPage } from '../db/list-query.ts'
import { runPrepared } from '../db/prepared.ts'
import { findRecord, listRecords } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import {
  ATTEMPT,
  type CompletedAttempt,
  type DueDelivery,
  endedColumns,
  insertAttempts,
  type PayloadRow,
  PROGRESS,
  type ProgressRow,
  payloadOf,
  type RecordedAttempt,
  type StoredAttempt,
  type StoredDelivery,
  toDelivery,
  toDeliveryRow,
} from './delivery-row.ts'

/** An endpoint that receives deliveries. */
export interface Target {
  id: string
  generation: number
}

export interface EventRow {
  id: string
  type: Delivery['eventType']
}

export interface DeliveryFilters extends ListRequest {
  webhookId?: string[] | undefined
  eventType?: Delivery['eventType'][] | undefined
  status?: DeliveryStatus[] | undefined
  lastAttempt?: 'failed'[] | undefined
}

type DueRow = PayloadRow & ProgressRow & { endpoint_generation: number; erasures: number; endpoint_updated_at: number }

const ENDED_WITH_ENDPOINT = 'The webhook was disabled or deleted.'

export class Deliveries extends Repository {
  async insert(workspaceId: string, pairs: { event: EventRow; target: Target }[], at: Date): Promise<StoredDelivery[]> {
    const deliveries = pairs.map(({ event, target }) => newDelivery(workspaceId, event, target, at))
    await insertRows(this.db, 'webhook_deliveries', deliveries.map(toDeliveryRow))
    return deliveries
  }

  async find(workspaceId: string, id: string): Promise<StoredDelivery | undefined> {
    return findRecord(this.one(workspaceId, id), toDelivery)
  }

  /** Returns the body that every attempt sends. */
  async findPayload(workspaceId: string, id: string): Promise<string | undefined> {
    return findRecord(this.withEvents(workspaceId).where('webhook_deliveries.id', id), payloadOf)
  }

  /** Returns the attempts of a delivery, oldest first. */
  async listAttempts(workspaceId: string, deliveryId: string): Promise<StoredAttempt[]> {
    const ofDelivery = this.db('webhook_attempts').where({ workspace_id: workspaceId, delivery_id: deliveryId })
    return listRecords(ofDelivery.orderBy('number'), ATTEMPT.read)
  }

  /** Returns a page of the deliveries of a workspace, sorted by creation (decisions/0012). */
  async list(workspaceId: string, request: DeliveryFilters): Promise<ListPage<StoredDelivery>> {
    const { webhookId, eventType, status, lastAttempt } = request
    // Most deliveries have succeeded, so a filter by endpoint or type is more selective than the filter by SUCCESS.
    const isByStatus = status && !((webhookId || eventType) && status.includes('SUCCESS'))
    const isByProgress = isByStatus || lastAttempt
    // The status and the last attempt are in `webhook_deliveries`. For other filters, read `delivery_keys`.
    const table = isByProgress ? 'webhook_deliveries' : 'delivery_keys'
    const filtered = this.db(table).where(`${table}.workspace_id`, workspaceId)
    if (webhookId) filtered.whereIn(`${table}.webhook_id`, webhookId)
    if (eventType) filtered.whereIn(`${table}.event_type`, eventType)
    if (status && !isByProgress) filtered.join('webhook_deliveries', 'webhook_deliveries.id', 'delivery_keys.id')
    if (status) filtered.whereIn('webhook_deliveries.status', status)
    if (lastAttempt) filtered.whereNotNull('webhook_deliveries.last_error')
    return listPage(this.db, filtered, { ...byId(table), name: 'webhook_deliveries' }, request, toDelivery)
  }

  /** Makes a delivery due now. The caller has locked its endpoint. */
  async redeliver(workspaceId: string, id: string, target: Target, at: Date): Promise<StoredDelivery | undefined> {
    const delivery = await findRecord(this.one(workspaceId, id).forUpdate(), toDelivery)
    if (!delivery) return undefined
    // A delivery of an older generation has no more planned attempts, so treat it as FAILED.
    const current = delivery.generation === target.generation ? delivery : { ...delivery, status: 'FAILED' as const }
    const queued = { ...delivery, ...redelivered(current, at), generation: target.generation, updatedAt: at }
    await this.one(workspaceId, id).update(toDeliveryRow(queued))
    return queued
  }

  /**
   * Returns the due deliveries of an endpoint, longest waiting first. Omits the deliveries that are in flight
   * (`underWay`).
   */
  async listDue(
    workspaceId: string,
    target: Target,
    { at, limit, underWay }: { at: Date; limit: number; underWay: string[] },
  ): Promise<DueDelivery[]> {
    const { id: webhookId, generation } = target
    const values = { workspaceId, webhookId, generation, at: at.getTime(), underWay: JSON.stringify(underWay), limit }
    const columns = ['id', 'event_type', 'created_at', ...PROGRESS.columns].map(
      (column) => `webhook_deliveries.${column}`,
    )
    const seenAt = performance.now()
    const rows = await runPrepared<DueRow>(
      this.db,
      'due-deliveries',
      values,
      () =>
        `select ${columns.join(', ')}, events.correlation_id, events.data, webhooks.erasures,
          webhooks.generation as endpoint_generation, webhooks.updated_at as endpoint_updated_at
        from webhook_deliveries join events on events.id = webhook_deliveries.event_id
        join webhooks on webhooks.id = :webhookId
        where webhook_deliveries.workspace_id = :workspaceId and webhook_deliveries.webhook_id = :webhookId
          and webhook_deliveries.generation = :generation and webhook_deliveries.status = 'PENDING'
          and webhook_deliveries.due_at <= :at and ${isNotInJson(this.db, 'webhook_deliveries.id', 'underWay')}
        order by webhook_deliveries.due_at limit :limit`,
    )
    return rows.map((row) => {
      const { endpoint_generation: seen, erasures, endpoint_updated_at: updatedAt } = row
      const endpoint = { generation: seen, erasures, updatedAt: new Date(updatedAt), seenAt }
      return { id: row.id, payload: payloadOf(row), progress: PROGRESS.read(row), endpoint }
    })
  }

  async findNextDue(workspaceId: string, target: Target): Promise<Date | undefined> {
    const row: { due_at: number } | undefined = await this.pending(workspaceId, target.id)
      .where('generation', target.generation)
      .orderBy('due_at')
      .first('due_at')
    return row && new Date(row.due_at)
  }

  /** Writes attempts and the progress of their deliveries. The caller must be the only sender of the endpoint. */
  async record(workspaceId: string, attempts: CompletedAttempt[], at: Date): Promise<void> {
    const expected = attempts.map((attempt) => {
      const { id, progress: read } = attempt.delivery
      return { id, attempt, read, progress: afterAttempt(read, read, attempt) }
    })
    const changes = expected.map(({ id, read, progress }) => ({
      id,
      set: changeOf(progress, at),
      read: PROGRESS.write(read),
    }))
    const written = await updateRows(this.db, workspaceId, PROGRESS_UPDATE, changes)
    const made: RecordedAttempt[] = expected.filter(({ id }) => written.has(id))
    if (made.length < attempts.length) {
      const others = attempts.filter(({ delivery }) => !written.has(delivery.id))
      made.push(...(await this.recordChanged(workspaceId, others, at)))
    }
    if (made.length === 0) return
    await insertAttempts(this.db, workspaceId, made)
    for (const { progress } of made) this.emit({ what: 'attempt', status: progress.status })
  }

  /**
   * Writes the progress of deliveries that were redelivered or ended while they were sent. Returns their attempts,
   * without those of deleted deliveries.
   */
  private async recordChanged(workspaceId: string, attempts: CompletedAttempt[], at: Date): Promise<RecordedAttempt[]> {
    const ids = attempts.map(({ delivery }) => delivery.id)
    const query = this.db('webhook_deliveries').where({ workspace_id: workspaceId }).whereIn('id', ids).orderBy('id')
    const rows: (ProgressRow & { id: string })[] = await query.select('id', ...PROGRESS.columns).forUpdate()
    const current = new Map(rows.map((row) => [row.id, PROGRESS.read(row)]))
    const made = attempts.flatMap((attempt) => {
      const { id } = attempt.delivery
      const now = current.get(id)
      return now ? [{ id, attempt, progress: afterAttempt(now, attempt.delivery.progress, attempt) }] : []
    })
    const changes = made.map(({ id, progress }) => ({ id, set: changeOf(progress, at) }))
    await updateRows(this.db, workspaceId, LOCKED_UPDATE, changes)
    return made
  }

  /** Whether deliveries of an older generation of the endpoint are pending. */
  async hasStale(workspaceId: string, webhookId: string, before: number): Promise<boolean> {
    return (await this.pending(workspaceId, webhookId).where('generation', '<', before).first('id')) !== undefined
  }

  /**
   * Ends pending deliveries of older generations, at most `limit`. Skips rows that another transaction has locked,
   * because that transaction might redeliver them.
   */
  async end(
    workspaceId: string,
    webhookId: string,
    { before, at, limit }: { before: number; at: Date; limit: number },
  ): Promise<void> {
    const stale = this.pending(workspaceId, webhookId).where('generation', '<', before).limit(limit).select('id')
    const chosen = idIsChosen(this.db, stale.forUpdate().skipLocked())
    await this.db('webhook_deliveries').whereRaw(chosen).update(endedColumns(ENDED_WITH_ENDPOINT, at))
  }

  private one(workspaceId: string, id: string) {
    return this.db('webhook_deliveries').where({ workspace_id: workspaceId, id })
  }

  private pending(workspaceId: string, webhookId: string) {
    return this.db('webhook_deliveries').where({ workspace_id: workspaceId, webhook_id: webhookId, status: 'PENDING' })
  }

  private withEvents(workspaceId: string) {
    return this.db('webhook_deliveries')
      .join('events', 'events.id', 'webhook_deliveries.event_id')
      .where('webhook_deliveries.workspace_id', workspaceId)
      .select(['id', 'event_type', 'created_at'].map((column) => `webhook_deliveries.${column}`))
      .select('events.correlation_id', 'events.data')
  }
}

function newDelivery(workspaceId: string, event: EventRow, target: Target, at: Date): StoredDelivery {
  return {
    id: newId(at),
    workspaceId,
    webhookId: target.id,
    eventId: event.id,
    eventType: event.type,
    generation: target.generation,
    status: 'PENDING',
    dueAt: at,
    scheduledAttempts: 0,
    isRedelivery: false,
    resumeAt: null,
    attemptCount: 0,
    lastResponseCode: null,
    lastError: null,
    createdAt: at,
    updatedAt: at,
  }
}

const PROGRESS_UPDATE: RowsUpdate = {
  name: 'progress',
  table: 'webhook_deliveries',
  set: {
    status: 'text',
    due_at: 'bigint',
    scheduled_attempts: 'integer',
    is_redelivery: 'boolean',
    resume_at: 'bigint',
    attempt_count: 'integer',
    last_response_code: 'integer',
    last_error: 'text',
    updated_at: 'bigint',
  },
  // A redelivery, an attempt, and a cancellation each change at least one of these columns.
  read: { status: 'text', due_at: 'bigint', is_redelivery: 'boolean', attempt_count: 'integer' },
}

/**
 * Like `PROGRESS_UPDATE`, for deliveries that the caller has locked. Compares no values: a delivery that has ended has
 * no due time, and null never matches.
 */
const LOCKED_UPDATE: RowsUpdate = { ...PROGRESS_UPDATE, name: 'progress-of-locked', read: {} }

function changeOf(progress: DeliveryProgress, at: Date) {
  return { ...PROGRESS.write(progress), updated_at: at.getTime() }
}
