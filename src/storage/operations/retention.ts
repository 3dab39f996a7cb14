import type { Knex } from 'knex'
import { idBound } from '../../core/ids.ts'
import { deleteReturningIds, forUpdateSkipLocked, idIsChosen } from '../db/dialect.ts'

/**
 * What is deleted by its age, a few rows in each transaction, oldest first. Ids ascend with the time, so that old rows
 * are a range of the primary key. Rows that another server holds are passed over.
 */
export class Retention {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** Deliveries that ended, with their attempts: neither made nor changed since. What is pending stays, however old. */
  async deleteDeliveries(before: Date, limit: number): Promise<number> {
    const old = this.older('webhook_deliveries', before)
      .whereNot('status', 'PENDING')
      .where('updated_at', '<', before.getTime())
    const ids = await this.delete('webhook_deliveries', old, limit)
    if (ids.length > 0) await this.db('webhook_attempts').whereIn('delivery_id', ids).delete()
    return ids.length
  }

  /** Events that no delivery needs any more. */
  async deleteEvents(before: Date, limit: number): Promise<number> {
    const deliveries = this.db('delivery_keys').whereRaw('event_id = events.id').select(this.db.raw('1'))
    return (await this.delete('events', this.older('events', before).whereNotExists(deliveries), limit)).length
  }

  async deleteAuditEntries(before: Date, limit: number): Promise<number> {
    return (await this.delete('audit_entries', this.older('audit_entries', before), limit)).length
  }

  /** Phones of passes that were erased so long ago: by then they have fetched the empty card. */
  async deleteErasedRegistrations(before: Date, limit: number): Promise<number> {
    const erased = this.db('apple_registrations')
      .join('passes', 'passes.id', 'apple_registrations.pass_id')
      .where('passes.erased_at', '<', before.getTime())
    const keys: { device_id: string; pass_id: string }[] = await erased
      .limit(limit)
      .select('apple_registrations.device_id', 'apple_registrations.pass_id')
    const pairs = keys.map(({ device_id: device, pass_id: pass }) => [device, pass])
    return pairs.length === 0 ? 0 : this.db('apple_registrations').whereIn(['device_id', 'pass_id'], pairs).delete()
  }

  /** Callbacks of Google that were taken in so long ago that none of them comes again. */
  async deleteGoogleCallbacks(before: Date, limit: number): Promise<number> {
    const old = this.db('google_callbacks').where('received_at', '<', before.getTime()).orderBy('received_at')
    return this.db('google_callbacks').whereIn('nonce', old.limit(limit).select('nonce')).delete()
  }

  private older(table: string, before: Date): Knex.QueryBuilder {
    return this.db(table).where(`${table}.id`, '<', idBound(before.getTime()))
  }

  private async delete(table: string, old: Knex.QueryBuilder, limit: number): Promise<string[]> {
    const chosen = forUpdateSkipLocked(this.db, old.orderBy(`${table}.id`).limit(limit).select(`${table}.id`))
    return deleteReturningIds(this.db, this.db(table).whereRaw(idIsChosen(this.db, chosen)))
  }
}
