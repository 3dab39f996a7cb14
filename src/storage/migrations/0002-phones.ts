import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** What phones hold, and how far each has come. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('passes', (table) => {
    // Last-Modified, in whole seconds: moves by a second at least with every change that phones see.
    table.bigInteger('modified_at').notNullable().defaultTo(0)
    // Where the pass stands in the order of announced changes; 0 until a phone was told of one.
    table.bigInteger('wallet_tag').notNullable().defaultTo(0)
  })
  await db.raw('update passes set modified_at = created_at - created_at % 1000')

  await db.schema.createTable('apple_registrations', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id')
    table.text('device_id').notNullable()
    table.text('push_token').notNullable()
    table.bigInteger('registered_at').notNullable()
    table.bigInteger('pushed_at')
    table.integer('pushed_version').notNullable()
    table.bigInteger('listed_at')
    table.bigInteger('fetched_at')
    table.integer('fetched_version').notNullable()
    table.text('last_error')
    table.primary(['device_id', 'pass_id'])
    table.index(['pass_id'])
  })

  await db.schema.createTable('google_objects', (table) => {
    table.uuid('pass_id').primary().references('passes.id')
    table.uuid('workspace_id').notNullable()
    table.integer('sent_version').notNullable()
    table.bigInteger('sent_at').notNullable()
    table.bigInteger('installed_at')
    table.text('last_error')
  })

  // Callbacks that were taken in: each counts once, however often it is sent.
  await db.schema.createTable('google_callbacks', (table) => {
    table.text('nonce').primary()
    table.bigInteger('received_at').notNullable()
  })

  await db.schema.createTable('counters', (table) => {
    table.text('name').primary()
    table.bigInteger('value').notNullable()
  })
  await db('counters').insert({ name: 'wallet-tag', value: 0 })
  await db.raw('create index jobs_by_subject on jobs (subject, kind)')
  if (!isPostgres(db)) return
  // Rewritten with every update: room on the page keeps the indexes out of it.
  await db.raw('alter table apple_registrations set (fillfactor = 70)')
}
