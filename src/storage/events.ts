import type { Knex } from 'knex'
import type { EventData, EventType } from '../core/events.ts'
import { newId } from '../core/ids.ts'
import { insertMany } from './dialect.ts'

export interface NewEvent<T extends EventType = EventType> {
  type: T
  /** The pass of a lifecycle event, the scan of a scan event. */
  subject: string
  data: EventData[T]
  correlationId: string | null
}

/** What happened, written in the transaction that causes it; webhooks are delivered from here. */
export class Events {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async insert(workspaceId: string, events: NewEvent[], at: Date): Promise<void> {
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
  }
}
