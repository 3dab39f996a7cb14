import type { Knex } from 'knex'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { cleanUpAfterAll, dialects, emptyDatabase } from '../../support/databases.ts'
import { runMigrations, start } from '../fixtures.ts'

const introduced = '0016-delivery-keys.ts'
const [workspaceId, webhookId, eventId] = [newId(start), newId(start), newId(start)]

describe.each(dialects)('on %s', (dialect) => {
  const cleanUp = cleanUpAfterAll()

  test('deliveries of an older database have their keys, which come and go with deliveries', async () => {
    const database = openDatabase(await emptyDatabase(dialect, cleanUp))
    cleanUp(() => database.close())
    const db = database.writer
    await runMigrations(db, { before: introduced })
    const old = await insert(db, 2)
    await runMigrations(db, { from: introduced, before: '0017' })
    expect(await keysOf(db)).toEqual(await deliveriesOf(db))
    expect((await keysOf(db)).map(({ id }) => id)).toEqual(old)

    const added = await insert(db, 3)
    expect(await keysOf(db)).toEqual(await deliveriesOf(db))
    await db('webhook_deliveries').whereIn('id', [old[0]!, added[1]!]).delete()
    expect((await keysOf(db)).map(({ id }) => id)).toEqual([old[1], added[0], added[2]])
  })
})

async function insert(db: Knex, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(start)).sort()
  const state = { generation: 1, status: 'PENDING', scheduled_attempts: 0, is_redelivery: false, attempt_count: 0 }
  const keys = { workspace_id: workspaceId, webhook_id: webhookId, event_id: eventId, event_type: 'webhook.test' }
  await db('webhook_deliveries').insert(ids.map((id) => ({ id, ...keys, ...state, created_at: 1, updated_at: 1 })))
  return ids
}

const columns = ['id', 'workspace_id', 'webhook_id', 'event_type', 'event_id']

function keysOf(db: Knex): Promise<{ id: string }[]> {
  return db('delivery_keys').select(columns).orderBy('id')
}

function deliveriesOf(db: Knex): Promise<{ id: string }[]> {
  return db('webhook_deliveries').select(columns).orderBy('id')
}
