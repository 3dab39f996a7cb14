import type { Knex } from 'knex'
import type { EventData, EventType } from '../core/events.ts'
import { newId } from '../core/ids.ts'
import type { Deliveries, Target } from './deliveries.ts'
import type { StoredDelivery } from './delivery-row.ts'
import { insertMany, runPrepared } from './dialect.ts'
import type { Jobs } from './jobs.ts'
import type { Tell } from './news.ts'

export interface NewEvent<T extends EventType = EventType> {
  type: T
  /** The pass of a lifecycle event, the scan of a scan event, the webhook of a test. */
  subject: string
  data: EventData[T]
  correlationId: string | null
}

interface Endpoint {
  id: string
  generation: number
  /** As JSON. */
  events: string
}

/** What happened, and its deliveries to whoever subscribed, written in the transaction that causes it. */
export class Events {
  private readonly db: Knex
  private readonly deliveries: Deliveries
  private readonly jobs: Jobs
  private readonly tell: Tell

  constructor(db: Knex, deliveries: Deliveries, jobs: Jobs, tell: Tell) {
    this.db = db
    this.deliveries = deliveries
    this.jobs = jobs
    this.tell = tell
  }

  async insert(workspaceId: string, events: NewEvent[], at: Date): Promise<void> {
    const rows = await this.write(workspaceId, events, at)
    const endpoints = await this.enabledEndpoints(workspaceId)
    const pairs = endpoints.flatMap((target) =>
      rows.filter((event) => target.events.includes(event.type)).map((event) => ({ event, target })),
    )
    if (pairs.length === 0) return
    await this.deliveries.insert(workspaceId, pairs, at)
    const subjects = new Set(pairs.map(({ target }) => target.id))
    await this.deliverTo(workspaceId, [...subjects], events[0]?.correlationId ?? null, at)
  }

  /** An event for one endpoint alone, whatever it subscribed to. */
  async insertFor(workspaceId: string, target: Target, event: NewEvent, at: Date): Promise<StoredDelivery> {
    const [row] = await this.write(workspaceId, [event], at)
    const [delivery] = await this.deliveries.insert(workspaceId, [{ event: row!, target }], at)
    await this.deliverTo(workspaceId, [target.id], event.correlationId, at)
    return delivery!
  }

  private async write(workspaceId: string, events: NewEvent[], at: Date): Promise<{ id: string; type: EventType }[]> {
    const rows = events.map((event) => ({
      id: newId(at),
      workspace_id: workspaceId,
      type: event.type,
      subject: event.subject,
      data: JSON.stringify(event.data),
      correlation_id: event.correlationId,
      created_at: at.getTime(),
    }))
    await insertMany(this.db, 'events', rows)
    for (const { type } of events) this.tell({ what: 'event', type })
    return rows
  }

  private async enabledEndpoints(workspaceId: string): Promise<(Target & { events: string[] })[]> {
    const rows = await runPrepared<Endpoint>(this.db, 'enabled-endpoints', [workspaceId, 'ENABLED'], () =>
      this.db('webhooks').where({ workspace_id: '', status: '' }).select('id', 'generation', 'events'),
    )
    return rows.map((row) => ({ id: row.id, generation: row.generation, events: JSON.parse(row.events) }))
  }

  /** Always a job of its own: one that waits already may be about to end. What is too many, the sender clears away. */
  private deliverTo(workspaceId: string, webhookIds: string[], correlationId: string | null, at: Date): Promise<void> {
    const job = { workspaceId, kind: 'deliver-webhooks' as const, correlationId }
    return this.jobs.insert(
      webhookIds.map((subject) => ({ ...job, subject })),
      at,
    )
  }
}
