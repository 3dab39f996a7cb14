import type { Knex } from 'knex'
import { setStorage } from './columns.ts'

export async function createWallets(db: Knex): Promise<void> {
  await createApple(db)
  await createGoogle(db)

  // The passes that wallets hold, as reported by events. Lists of passes filter by these rows.
  await db.schema.createTable('held_passes', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id')
    // The number of devices with the pass in Apple Wallet, and the number of people who have it in Google Wallet.
    table.integer('apple').notNullable()
    table.integer('google').notNullable()
    table.primary(['workspace_id', 'pass_id'])
  })
  for (const platform of ['apple', 'google']) {
    await db.raw(`create index held_passes_at_${platform} on held_passes (workspace_id, pass_id) where ${platform} > 0`)
  }
  await setStorage(db, 'held_passes', 'fillfactor = 80')

  // Permanent rejections by a platform. The subject is the rejected pass, class, or template version.
  await db.schema.createTable('rejections', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('subject').notNullable()
    table.text('kind').notNullable()
    table.text('platform').notNullable()
    table.text('code').notNullable()
    table.text('message').notNullable()
    table.bigInteger('at').notNullable()
    table.primary(['workspace_id', 'subject', 'platform'])
    table.index(['kind', 'at'], 'rejections_by_kind')
  })
}

async function createApple(db: Knex): Promise<void> {
  await db.schema.createTable('apple_registrations', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.text('device_id').notNullable()
    table.text('push_token').notNullable().index()
    table.bigInteger('registered_at').notNullable()
    // The update tag that the server assigned before the last push; 0 before the first push.
    table.bigInteger('update_tag').notNullable().defaultTo(0)
    table.bigInteger('pushed_at')
    table.integer('pushed_version').notNullable()
    table.bigInteger('listed_at')
    table.bigInteger('fetched_at')
    table.integer('fetched_version').notNullable()
    table.text('last_error')
    table.primary(['device_id', 'pass_id'])
  })
  // Each push rewrites a row. With free space on the page, PostgreSQL does this without writing to the indexes.
  await setStorage(db, 'apple_registrations', 'fillfactor = 70')

  // Passes that were pushed to phones, and the next time to check whether the phones downloaded them.
  await db.schema.createTable('nudges', (table) => {
    table.uuid('pass_id').primary()
    table.uuid('workspace_id').notNullable()
    table.integer('version').notNullable()
    table.bigInteger('pushed_at').notNullable()
    // The time of the next check; null if this version is not pushed again.
    table.bigInteger('due_at')
  })
  await db.raw('create index nudges_due on nudges (workspace_id, due_at) where due_at is not null')

  // Messages of devices to the log endpoint of the PassKit web service.
  await db.schema.createTable('device_logs', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('pass_id').notNullable()
    // The digest of the device ID in the message; null if the message contains no device ID.
    table.text('device')
    table.text('message').notNullable()
    table.index(['workspace_id', 'id'])
    table.index(['workspace_id', 'pass_id', 'id'])
  })

  // The address to which the phones of a workspace are moved.
  await db.schema.createTable('moves', (table) => {
    table.uuid('workspace_id').primary()
    table.uuid('id').notNullable()
    table.text('url').notNullable()
    table.integer('passes_per_second').notNullable()
    table.bigInteger('started_at').notNullable()
    // The time of the last selection of passes for a push. `passes_per_second` and the time since then limit the next
    // selection.
    table.bigInteger('taken_at').notNullable()
    // The last pass that the current round has processed; null at its beginning. A round goes through all held passes.
    table.uuid('position')
    table.bigInteger('round_at').notNullable()
    // The end of the first round, in which each held pass was selected for a push; null before that.
    table.bigInteger('completed_at')
  })
  await db.schema.createTable('moved_passes', (table) => {
    table.uuid('pass_id').primary()
    table.uuid('workspace_id').notNullable().index()
    table.uuid('move_id').notNullable()
    // The first wallet version of the pass that contains the new address.
    table.integer('version').notNullable()
  })
}

async function createGoogle(db: Knex): Promise<void> {
  await db.schema.createTable('google_objects', (table) => {
    table.uuid('pass_id').primary().references('passes.id')
    table.uuid('workspace_id').notNullable()
    // The object ID without the issuer.
    table.text('object_suffix').notNullable().index('google_objects_by_suffix')
    table.text('kind')
    table.text('class_suffix')
    table.uuid('template_version_id')
    table.integer('sent_version').notNullable()
    table.bigInteger('sent_at').notNullable()
    // The digest of the content at Google; null if unknown. While a request runs, the column has an ID of the request.
    table.text('sent_digest')
    table.bigInteger('installed_at')
    table.integer('holders').notNullable().defaultTo(0)
    table.bigInteger('activated_at')
    table.text('last_error')
  })
  // Former Google objects that phones can still show, for example the object that a pass had before its kind changed.
  await db.schema.createTable('google_former_objects', (table) => {
    table.text('object_suffix').notNullable()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.text('kind').notNullable()
    table.uuid('template_version_id').notNullable()
    table.integer('holders').notNullable()
    // Whether the object belongs to a former holder, so that it must not show data of the next holder.
    table.boolean('is_transferred').notNullable().defaultTo(false)
    // The time at which the object was expired at Google; null before that.
    table.bigInteger('expired_at')
    table.primary(['object_suffix', 'pass_id'])
  })
  // The Google classes. Passes with the same key share a class.
  await db.schema.createTable('google_classes', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('template_version_id').notNullable()
    table.text('key_digest').notNullable()
    // The values of the placeholders in the class.
    table.text('class_values').notNullable()
    table.integer('version').notNullable()
    table.integer('sent_version')
    table.unique(['template_version_id', 'key_digest'])
  })
  // The nonces of accepted callbacks from Google, so that a repeated callback has no effect.
  await db.schema.createTable('google_callbacks', (table) => {
    table.text('nonce').primary()
    table.bigInteger('received_at').notNullable().index()
  })
}
