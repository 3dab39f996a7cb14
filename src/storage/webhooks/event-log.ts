import type { Knex } from 'knex'
import type { EventType } from '../../core/contract/webhooks/event-data.ts'
import { idBound } from '../../core/ids.ts'
import { envelopeText } from '../../core/rules/sending/retries.ts'
import { afterPlace, isSettled, PLACE_BEFORE_ALL, type Place } from '../db/positions.ts'
import { Repository } from '../db/repository.ts'

export interface LoggedEvent {
  id: string
  type: EventType
  place: Place
  envelope: string
}

interface LoggedRow extends Place {
  type: EventType
  data: string
  correlation_id: string | null
  created_at: number
}

/**
 * The events of a workspace in an order that clients can follow. After a client has read an event, no server places a
 * new event before it (decisions/0012).
 */
export class EventLog extends Repository {
  /** Returns the place of an event; `undefined` if the event is unknown or not in the stream. */
  findPlace(workspaceId: string, id: string): Promise<Place | undefined> {
    return this.of(workspaceId).where({ id }).first('position', 'id')
  }

  /** Returns the place of the last event. Events that are committed later are after this place. */
  async findEnd(workspaceId: string): Promise<Place> {
    const last: Place | undefined = await this.of(workspaceId)
      .whereRaw(isSettled(this.db, 'position'))
      .orderBy('position', 'desc')
      .orderBy('id', 'desc')
      .first('position', 'id')
    return last ?? PLACE_BEFORE_ALL
  }

  async findFirstId(workspaceId: string, since: Date): Promise<string | undefined> {
    const first: { id: string } | undefined = await this.of(workspaceId)
      .where('id', '>=', idBound(since.getTime()))
      .orderBy('position')
      .orderBy('id')
      .first('id')
    return first?.id
  }

  /** Returns the events after a place, in stream order (decisions/0012). */
  async listAfter(workspaceId: string, place: Place, limit: number): Promise<LoggedEvent[]> {
    const rows: LoggedRow[] = await this.of(workspaceId)
      .whereRaw(afterPlace(this.db), { ...place })
      .whereRaw(isSettled(this.db, 'position'))
      .orderBy('position')
      .orderBy('id')
      .limit(limit)
      .select('position', 'id', 'type', 'data', 'correlation_id', 'created_at')
    return rows.map(({ position, id, type, data, correlation_id: correlationId, created_at: createdAt }) => {
      const timestamp = new Date(createdAt).toISOString()
      return { id, type, place: { position, id }, envelope: envelopeText({ id, type, timestamp, correlationId }, data) }
    })
  }

  private of(workspaceId: string): Knex.QueryBuilder {
    return this.db('events').where({ workspace_id: workspaceId }).whereNotNull('position')
  }
}
