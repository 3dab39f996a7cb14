import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/**
 * The order in which events are followed (decisions/0032). On PostgreSQL the place of an event is the transaction that wrote
 * it: a reader who stays below the oldest one that still runs misses nothing that commits late. SQLite has one writer at a
 * time, so there it counts on from the last event of the workspace; never below the clock, so that no place comes again
 * once all were deleted. The database itself gives the place, so that servers of the version before write events that are
 * followed, too.
 */
export async function up(db: Knex): Promise<void> {
  if (isPostgres(db)) {
    await db.raw('alter table events add column position xid8 default pg_current_xact_id()')
  } else {
    await db.raw('alter table events add column position bigint default 0')
    await db.raw(`create trigger events_in_order after insert on events begin
      update events set position = max(new.created_at,
        1 + coalesce((select max(position) from events where workspace_id = new.workspace_id), 0))
      where id = new.id; end`)
  }
  // For its endpoint alone: it has no place.
  await db('events').where({ type: 'webhook.test' }).update({ position: null })
  await db.raw('create index events_by_position on events (workspace_id, position, id)')
}
