import { beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { type Database, openDatabase } from '../../../src/storage/db/database.ts'
import { createStore, type Store } from '../../../src/storage/store.ts'
import type { DeliveryFilters } from '../../../src/storage/webhooks/deliveries-repository.ts'
import { cleanUpAfterAll, dialects, migratedDatabase } from '../../support/databases.ts'
import { explainPostgres, explainSqlite, type Statement } from '../db/query-plans.ts'
import { insertWorkspace, later, start } from '../fixtures.ts'

const ROWS = 5_000
const target = { id: newId(start), generation: 1 }
const rare = { id: newId(start), generation: 1 }

describe.each(dialects)('on %s', (dialect) => {
  const cleanUp = cleanUpAfterAll()
  let database: Database
  let store: Store
  let workspaceId: string
  const statements: Statement[] = []

  beforeAll(async () => {
    database = openDatabase(await migratedDatabase(dialect, cleanUp))
    cleanUp(() => database.close())
    store = createStore(database)
    workspaceId = await insertWorkspace(store)
    await store.transaction(async (tx) => {
      const data = { webhookId: target.id }
      const event = { type: 'webhook.test', subject: target.id, data, correlationId: null } as const
      const { eventId } = await tx.events.insertFor(workspaceId, target, event, start)
      const pairs = Array.from({ length: ROWS }, (_, n) => ({
        event: { id: eventId, type: n % 1_000 === 7 ? ('pass.failed' as const) : ('pass.issued' as const) },
        target: n % 1_000 === 3 ? rare : target,
      }))
      await tx.deliveries.insert(workspaceId, pairs, start)
    })
    const db = database.writer
    await db('webhook_deliveries').where('event_type', 'pass.failed').update({ last_error: 'HTTP 500' })
    const done = db('webhook_deliveries').where('event_type', 'pass.issued').where('webhook_id', target.id)
    await done.update({ status: 'SUCCESS', due_at: null })
    if (dialect === 'postgres') await db.raw('vacuum analyze')
    database.reader.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
  })

  const plansOf = async (work: () => Promise<unknown>) => {
    statements.length = 0
    await work()
    const asked = statements.filter(({ sql }) => !/ count\(/.test(sql))
    expect(asked.length).toBeGreaterThan(0)
    return Promise.all(
      asked.map((one) =>
        dialect === 'sqlite' ? explainSqlite(database.reader, one) : explainPostgres(database.writer, one),
      ),
    )
  }

  const lists: [name: string, filters: Partial<DeliveryFilters>][] = [
    ['no filter', {}],
    ['a webhook', { webhookId: [rare.id] }],
    ['a rare event', { eventType: ['pass.failed'] }],
    ['a rare status', { status: ['PENDING'] }],
    ['a common status', { status: ['SUCCESS'] }],
    ['a webhook and a rare status', { webhookId: [target.id], status: ['PENDING', 'FAILED'] }],
    ['a webhook and a common status', { webhookId: [target.id], status: ['SUCCESS'] }],
    ['a failed last attempt', { lastAttempt: ['failed'] }],
    ['a failed last attempt and a common status', { lastAttempt: ['failed'], status: ['SUCCESS'] }],
    ['a rare event and any status', { eventType: ['pass.failed'], status: ['PENDING', 'SUCCESS', 'FAILED'] }],
  ]

  test.each(lists)('a page of deliveries by %s reads few other rows', async (_, filters) => {
    for (const sortDir of ['asc', 'desc'] as const) {
      const request = { limit: 20, sortBy: 'createdAt', sortDir, ...filters }
      for (const plan of await plansOf(() => store.deliveries.list(workspaceId, request))) {
        expect(plan.fullScans, plan.text).toEqual([])
        expect(plan.sorted, plan.text).toBeLessThan(100)
        expect(plan.rowsRead, plan.text).toBeLessThan(200)
      }
    }
  })

  test('due deliveries, and the next due time, are read from the queue of their endpoint', async () => {
    const options = { at: later(9), limit: 20, underWay: [] }
    for (const plan of await plansOf(async () => {
      await store.deliveries.listDue(workspaceId, rare, options)
      await store.deliveries.findNextDue(workspaceId, rare)
      await store.deliveries.hasStale(workspaceId, target.id, 1)
    })) {
      expect(plan.fullScans, plan.text).toEqual([])
      expect(plan.rowsRead, plan.text).toBeLessThan(200)
      if (dialect === 'sqlite') expect(plan.text).toContain('webhook_deliveries_due')
    }
  })
})
