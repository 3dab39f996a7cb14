import type { EventData, EventType } from '../../core/contract/webhooks/event-data.ts'
import { newId } from '../../core/ids.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { bindIds, boundColumn, isAmong, rowLock } from '../db/dialect.ts'
import { runPrepared, runSilently } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import { Jobs } from '../jobs/jobs-repository.ts'
import { Deliveries, type EventRow, type Target } from './deliveries-repository.ts'
import { type DueDelivery, payloadOf, type SeenEndpoint, type StoredDelivery } from './delivery-row.ts'

/** An event to write in the transaction that causes it. */
export type NewEvent = { [T in EventType]: NewEventOf<T> }[EventType]

interface NewEventOf<T extends EventType> {
  type: T
  /** The ID of what the event is about: a pass (lifecycle events), a scan (scan events), or a webhook (test events). */
  subject: string
  data: EventData[T]
  correlationId: string | null
  /** The time of the event, if it differs from the time of the insert. */
  at?: Date
}

/** A written event, with the subscription epoch at which it was written. */
interface WrittenEvent {
  id: string
  type: EventType
  epoch: number
  /** The data of the envelope, as JSON. */
  data: string
  correlationId: string | null
}

/** An enabled endpoint, and the epoch at which each event type was subscribed. */
interface Subscriber extends Target {
  subscribedAt: Map<string, number>
  seen: SeenEndpoint
}

interface Pair<E extends EventRow = EventRow> {
  event: E
  target: Subscriber
}

interface Subscriptions {
  epoch: number
  endpoints: Subscriber[]
}

interface Endpoint {
  epoch: number
  /** Null if the workspace has no endpoint. */
  id: string | null
  generation: number
  erasures: number
  updated_at: number
  /** The subscribed event types as JSON. */
  events: string
  /** A JSON object that maps each type to the epoch of its subscription. */
  subscribed_at: string
}

/** An event whose deliveries are not all created yet. */
interface PendingEvent extends EventRow {
  epoch: number
  correlation_id: string | null
  /** The last endpoint for which a delivery was created; null if there is none. */
  last_webhook_id: string | null
}

/** The maximum number of deliveries that are created together with their events. */
const MAX_PAIRED = 25

/**
 * Writes events in the transaction that causes them. If at most `MAX_PAIRED` events have subscribers, and these events
 * have no more deliveries than events, also writes the deliveries. If there are more, writes pending events instead,
 * from which the worker creates the deliveries.
 */
export class Events extends Repository {
  private readonly deliveries = new Deliveries(this.connected)
  private readonly jobs = new Jobs(this.connected)
  /** The subscriptions by workspace, read once per transaction. */
  private readonly subscriptions = new Map<string, Promise<Subscriptions>>()

  /**
   * Reads the subscriptions in a transaction that will write events. Call it concurrently with another query to save a
   * round trip.
   */
  async expect(workspaceId: string): Promise<void> {
    await this.findSubscriptions(workspaceId)
  }

  async insert(workspaceId: string, events: NewEvent[], at: Date): Promise<void> {
    const { epoch, endpoints } = await this.findSubscriptions(workspaceId)
    const rows = await this.write(workspaceId, events, epoch, at)
    const wanted = rows.filter(({ type }) => endpoints.some(({ subscribedAt }) => subscribedAt.has(type)))
    if (wanted.length === 0) return
    const { correlationId } = events[0]!
    const pairs = wanted.length > MAX_PAIRED ? undefined : pairsOf(wanted, endpoints)
    if (pairs && pairs.length <= wanted.length) await this.deliver(workspaceId, pairs, correlationId, at)
    else await this.handOver(workspaceId, wanted, correlationId, at)
  }

  /** Creates the deliveries in the transaction of their events, without pending events. */
  private async deliver(
    workspaceId: string,
    pairs: Pair<WrittenEvent>[],
    correlationId: string | null,
    at: Date,
  ): Promise<void> {
    const deliveries = await this.deliveries.insert(workspaceId, pairs, at)
    const due = pairs.map(({ event, target }, index) => toDue(deliveries[index]!, event, target.seen))
    await this.queueSenders(workspaceId, deliveries, { correlationId, at, due })
  }

  private async handOver(
    workspaceId: string,
    events: WrittenEvent[],
    correlationId: string | null,
    at: Date,
  ): Promise<void> {
    const pending = events.map(({ id, epoch }) => ({ id, workspace_id: workspaceId, epoch }))
    await insertRows(this.db, 'pending_events', pending)
    // Always add a job, because an existing job might end without these events. The job that runs next removes surplus
    // jobs.
    await this.jobs.insert([{ workspaceId, kind: 'fan-out-events', subject: workspaceId, correlationId }], at)
  }

  /** Writes an event for one endpoint, regardless of its subscriptions. */
  async insertFor(workspaceId: string, target: Target, event: NewEvent, at: Date): Promise<StoredDelivery> {
    // Any epoch would do: an epoch serves only to select the endpoints of an event, and this event is for `target`.
    const [row] = await this.write(workspaceId, [event], 0, at)
    // Without a position, the event is not in the stream.
    await this.db('events').where({ id: row!.id }).update({ position: null })
    const deliveries = await this.deliveries.insert(workspaceId, [{ event: row!, target }], at)
    await this.queueSenders(workspaceId, deliveries, { correlationId: event.correlationId, at })
    return deliveries[0]!
  }

  /**
   * Creates deliveries of the oldest pending events, exactly once, for the endpoints that were subscribed when the
   * events happened. If an event has more endpoints than `deliveries`, each call creates some of its deliveries, in the
   * order of endpoint IDs. The caller must hold the fan-out job of the workspace. Only one such job runs at a time, so
   * two calls never create the same deliveries. Returns whether more events are pending.
   * @param deliveries the maximum number of deliveries to create
   */
  async fanOut(workspaceId: string, at: Date, deliveries: number): Promise<boolean> {
    const { endpoints } = await this.readSubscriptions(workspaceId)
    const limit = Math.max(1, Math.floor(deliveries / Math.max(1, endpoints.length)))
    const events = await this.listPending(workspaceId, limit)
    const all = pairsOf(events, endpoints).filter(({ event, target }) => target.id > (event.last_webhook_id ?? ''))
    const pairs = all.slice(0, deliveries)
    const isPart = pairs.length < all.length
    if (!isPart) await this.deletePending(events)
    const made = await this.deliveries.insert(workspaceId, pairs, at)
    await this.queueSenders(workspaceId, made, { correlationId: events[0]?.correlation_id ?? null, at })
    return isPart || events.length === limit
  }

  /** Locks and returns the oldest pending events that no other transaction has locked. The caller deletes them. */
  private listPending(workspaceId: string, limit: number): Promise<PendingEvent[]> {
    const ofEvent = (column: string) =>
      `(select ${column} from events where events.id = pending_events.id
        and ${boundColumn(this.db, 'events.workspace_id')} = pending_events.workspace_id) as ${column}`
    return runPrepared<PendingEvent>(
      this.db,
      'pending-events',
      { workspaceId, limit },
      () =>
        `select id, epoch, ${ofEvent('type')}, ${ofEvent('correlation_id')},
          (select webhook_id from delivery_keys where event_id = pending_events.id
            order by webhook_id desc limit 1) as last_webhook_id
        from pending_events
        where workspace_id = :workspaceId order by id limit :limit ${rowLock(this.db, 'for update skip locked')}`,
    )
  }

  private async deletePending(events: PendingEvent[]): Promise<void> {
    const ids = events.map(({ id }) => id)
    await runSilently(this.db, 'delete-pending-events', { ids: bindIds(this.db, ids) }, () => {
      return `delete from pending_events where ${isAmong(this.db, 'id', 'ids')}`
    })
  }

  private async write(workspaceId: string, events: NewEvent[], epoch: number, at: Date): Promise<WrittenEvent[]> {
    const rows = events.map((event) => ({
      id: newId(event.at ?? at),
      workspace_id: workspaceId,
      type: event.type,
      subject: event.subject,
      data: JSON.stringify(event.data),
      correlation_id: event.correlationId,
      created_at: (event.at ?? at).getTime(),
    }))
    await insertRows(this.db, 'events', rows)
    for (const { type } of events) this.emit({ what: 'event', type, workspaceId })
    return rows.map(({ id, type, data, correlation_id: correlationId }) => ({ id, type, epoch, data, correlationId }))
  }

  private findSubscriptions(workspaceId: string): Promise<Subscriptions> {
    const known = this.subscriptions.get(workspaceId)
    if (known) return known
    const reading = this.readSubscriptions(workspaceId)
    this.subscriptions.set(workspaceId, reading)
    return reading
  }

  private async readSubscriptions(workspaceId: string): Promise<Subscriptions> {
    const seenAt = performance.now()
    const rows = await runPrepared<Endpoint>(
      this.db,
      'subscriptions',
      { workspaceId },
      () =>
        `select workspaces.webhook_epoch as epoch, webhooks.id, webhooks.generation, webhooks.erasures,
          webhooks.updated_at, webhooks.events, webhooks.subscribed_at from workspaces
        left join webhooks on webhooks.workspace_id = workspaces.id and webhooks.status = 'ENABLED'
        where workspaces.id = :workspaceId`,
    )
    const endpoints = rows.flatMap((row) => (row.id === null ? [] : [toSubscriber(row.id, row, seenAt)]))
    endpoints.sort((one, other) => (one.id < other.id ? -1 : 1))
    return { epoch: rows[0]?.epoch ?? 0, endpoints }
  }

  /** Queues one due job per endpoint, which is enough for any number of events. The sender removes surplus jobs. */
  private async queueSenders(
    workspaceId: string,
    deliveries: StoredDelivery[],
    { correlationId, at, due }: { correlationId: string | null; at: Date; due?: DueDelivery[] },
  ): Promise<void> {
    if (deliveries.length === 0) return
    const webhookIds = [...new Set(deliveries.map(({ webhookId }) => webhookId))]
    for (const webhookId of webhookIds) {
      const made = due?.filter((_, index) => deliveries[index]!.webhookId === webhookId)
      this.emit({ what: 'deliveries', webhookId, made })
    }
    const job = { workspaceId, kind: 'deliver-webhooks' as const, correlationId }
    const jobs = webhookIds.map((subject) => ({ ...job, subject }))
    await this.jobs.insertUnlessDue(jobs, at)
  }
}

function toSubscriber(id: string, row: Endpoint, seenAt: number): Subscriber {
  const { generation, erasures, updated_at: updatedAt, events, subscribed_at: text } = row
  const since: Record<string, number> = JSON.parse(text)
  const types: string[] = JSON.parse(events)
  const subscribedAt = new Map(types.map((type) => [type, since[type] ?? 0]))
  return { id, generation, subscribedAt, seen: { generation, erasures, updatedAt: new Date(updatedAt), seenAt } }
}

/** Returns a new delivery as `Deliveries.listDue` would return it. */
function toDue(delivery: StoredDelivery, event: WrittenEvent, endpoint: SeenEndpoint): DueDelivery {
  const { id, eventType, createdAt } = delivery
  const { data, correlationId } = event
  const row = { id, event_type: eventType, created_at: createdAt.getTime(), correlation_id: correlationId, data }
  return { id, payload: payloadOf(row), progress: delivery, endpoint }
}

/** Pairs each event with the endpoints that were subscribed to its type when it happened, ordered by endpoint ID. */
function pairsOf<E extends EventRow & { epoch: number }>(events: E[], endpoints: Subscriber[]): Pair<E>[] {
  return events.flatMap((event) =>
    endpoints
      .filter(({ subscribedAt }) => (subscribedAt.get(event.type) ?? Infinity) <= event.epoch)
      .map((target) => ({ event, target })),
  )
}
