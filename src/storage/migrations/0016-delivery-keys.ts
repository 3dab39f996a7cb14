import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/**
 * What deliveries are listed by and never changes, apart from what every attempt changes: PostgreSQL writes all indexes of a
 * row anew where a column of any of them changes. Triggers keep it, as they would an index.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('delivery_keys', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('webhook_id').notNullable()
    table.text('event_type').notNullable()
    table.uuid('event_id').notNullable()
  })
  const columns = 'id, workspace_id, webhook_id, event_type, event_id'
  await db.raw(`insert into delivery_keys (${columns}) select ${columns} from webhook_deliveries`)
  await db.schema.alterTable('delivery_keys', (table) => {
    table.index(['workspace_id', 'id'])
    for (const filter of ['webhook_id', 'event_type']) table.index(['workspace_id', filter, 'id'])
    table.index(['event_id'])
  })
  await db.schema.alterTable('webhook_deliveries', (table) => {
    table.dropIndex(['workspace_id', 'id'])
    for (const filter of ['webhook_id', 'event_type']) table.dropIndex(['workspace_id', filter, 'id'])
  })
  await db.raw('drop index webhook_deliveries_by_event')
  await (isPostgres(db) ? keepOnPostgres(db, columns) : keepOnSqlite(db, columns))
}

async function keepOnPostgres(db: Knex, columns: string): Promise<void> {
  await db.raw(`create function add_delivery_keys() returns trigger language plpgsql as $$
    begin insert into delivery_keys (${columns}) select ${columns} from added; return null; end $$`)
  await db.raw(`create function delete_delivery_keys() returns trigger language plpgsql as $$
    begin delete from delivery_keys using deleted where delivery_keys.id = deleted.id; return null; end $$`)
  await db.raw(`create trigger webhook_deliveries_added after insert on webhook_deliveries
    referencing new table as added for each statement execute function add_delivery_keys()`)
  await db.raw(`create trigger webhook_deliveries_deleted after delete on webhook_deliveries
    referencing old table as deleted for each statement execute function delete_delivery_keys()`)
}

async function keepOnSqlite(db: Knex, columns: string): Promise<void> {
  const values = columns.replaceAll(/\w+/g, 'new.$&')
  await db.raw(`create trigger webhook_deliveries_added after insert on webhook_deliveries
    begin insert into delivery_keys (${columns}) values (${values}); end`)
  await db.raw(`create trigger webhook_deliveries_deleted after delete on webhook_deliveries
    begin delete from delivery_keys where id = old.id; end`)
}
