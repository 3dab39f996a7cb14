import { expect, onTestFinished, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import { migratedDatabase } from '../../support/databases.ts'
import { explainSqlite, type Statement } from '../db/query-plans.ts'
import { insertWorkspace, later, start } from '../fixtures.ts'

const ROWS = 5_000
const target = { id: newId(start), generation: 1 }

/** Without statistics, SQLite uses any index whose first column is compared with a constant. */
test('recording attempts finds their deliveries by ID', async () => {
  const database = openDatabase(await migratedDatabase('sqlite'))
  onTestFinished(() => database.close())
  const store = createStore(database)
  const workspaceId = await insertWorkspace(store)
  await store.transaction(async (tx) => {
    const data = { webhookId: target.id }
    const event = { type: 'webhook.test', subject: target.id, data, correlationId: null } as const
    const { eventId } = await tx.events.insertFor(workspaceId, target, event, start)
    const pair = { event: { id: eventId, type: 'pass.issued' as const }, target }
    await tx.deliveries.insert(workspaceId, Array(ROWS).fill(pair), start)
  })
  const written: Statement[] = []
  database.writer.on('query', ({ sql, bindings }: Statement) => written.push({ sql, bindings }))
  const due = await store.deliveries.listDue(workspaceId, target, { at: start, limit: 20, underWay: [] })
  const outcome = { responseCode: 204, error: null }
  const made = due.map((delivery) => ({ delivery, outcome, startedAt: start, at: start, durationMs: 1, jitter: 0 }))
  await store.transaction((tx) => tx.deliveries.record(workspaceId, made, later(1)))

  const updates = written.filter(({ sql }) => sql.startsWith('update webhook_deliveries'))
  expect(updates).toHaveLength(1)
  const [update] = updates as [Statement]
  const plan = await explainSqlite(database.writer, update)
  expect(plan.fullScans, plan.text).toEqual([])
  expect(plan.text).toMatch(/^SEARCH webhook_deliveries USING INDEX \w+ \(id=\?\)$/m)
})
