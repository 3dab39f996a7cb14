import type { Knex } from 'knex'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { dialects } from '../../support/databases.ts'
import { openTestStore, start } from '../fixtures.ts'

const [workspaceId, webhookId, eventId] = [newId(start), newId(start), newId(start)]

describe.each(dialects)('on %s', (dialect) => {
  test('keeps one key per delivery as deliveries come and go', async () => {
    const { database } = await openTestStore(dialect)
    const db = database.writer
    const first = await insert(db, 2)
    const second = await insert(db, 3)
    expect(await keysOf(db)).toEqual(await deliveriesOf(db))
    await db('webhook_deliveries').whereIn('id', [first[0]!, second[1]!]).delete()
    expect((await keysOf(db)).map(({ id }) => id)).toEqual([first[1], second[0], second[2]])
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
