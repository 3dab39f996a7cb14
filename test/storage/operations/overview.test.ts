import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import type { StoreEvent } from '../../../src/storage/operations/store-events.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import { explainSqlite, type Statement } from '../db/query-plans.ts'
import {
  definition,
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestStore,
  start,
} from '../fixtures.ts'

const claim = { limit: 1, leaseSeconds: 10 }
const isBusy = ({ due, later: planned, running }: { due: number; later: number; running: number }) =>
  due + planned + running > 0

describe.each(dialects)('on %s', (dialect) => {
  test('the overview counts jobs by queue and state, with the due time of the oldest one', async () => {
    const { store } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const job = (runAt: Date) => ({
      workspaceId,
      kind: 'issue-pass' as const,
      subject: newId(start),
      correlationId: null,
      runAt,
    })
    await store.transaction(async (tx) => {
      await tx.jobs.insert([job(later(-90)), job(later(-80)), job(later(-70)), job(later(-60)), job(later(60))], start)
      await tx.jobs.fail(await tx.jobs.claim('issuing', start, claim), start, 'no luck')
      await tx.jobs.claim('issuing', start, claim)
    })
    const { queues, discarded, webhooks, deliveries } = await store.overviews.read(start)
    expect(queues.filter(isBusy)).toEqual([
      { queue: 'issuing', priority: 'interactive', due: 2, later: 1, running: 1, oldestDueAt: later(-70) },
    ])
    expect(discarded).toEqual([{ kind: 'issue-pass', count: 1 }])
    expect({ webhooks, deliveries }).toEqual({
      webhooks: { sound: 0, failing: 0, disabled: 0 },
      deliveries: { due: 0, later: 0 },
    })
  })

  test('the overview totals the usage of each limit, and counts workspaces near it without naming them', async () => {
    const { store } = await openTestStore(dialect)
    const [full, other] = [await insertWorkspace(store, 'full'), await insertWorkspace(store, 'other')]
    for (const id of [full, other]) {
      const version = await insertTemplate(store, id)
      await insertPasses(
        store,
        id,
        [1, 2, 3, 4].map(() => newPass(version)),
      )
    }
    await store.transaction((tx) => tx.limits.set(full, { passes: 5 }))
    await store.transaction((tx) => tx.limits.set(other, { passes: 6 }))
    const { usage } = await store.overviews.read(start)
    expect(usage.find(({ limit }) => limit === 'passes')).toEqual({ limit: 'passes', total: 8, near: 1 })
    expect(usage.find(({ limit }) => limit === 'webhooks')).toEqual({ limit: 'webhooks', total: 0, near: 0 })
  })

  test('the overview covers every limit, and the template with most drafts decides how near it is', async () => {
    const { store } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const most = await insertTemplate(store, workspaceId)
    const other = await insertTemplate(store, workspaceId)
    const read = async () =>
      Object.fromEntries((await store.overviews.read(start)).usage.map(({ limit, ...rest }) => [limit, rest]))
    expect(Object.keys(await read()).sort()).toEqual(Object.keys(await store.usage.read(workspaceId, start)).sort())
    await store.transaction(async (tx) => {
      const project = await tx.projects.insert(workspaceId, { name: 'Gala', description: '', color: 'gray' }, start)
      const drafts = [most, most, most, other].map(({ templateId }, index) => ({ templateId, version: index + 2 }))
      for (const { templateId, version } of drafts) {
        await tx.templateVersions.insert(workspaceId, templateId, version, definition, start)
      }
      for (const sendAt of [start, later(1), later(2)]) {
        const message = { body: 'Doors open', options: {}, platforms: [], sendAt, idempotencyKey: null }
        await tx.broadcasts.insert(workspaceId, { ...message, id: newId(start), projectId: project.id }, start)
      }
      await tx.limits.set(workspaceId, { draftsPerTemplate: 4, scheduledSends: 2 })
    })
    expect(await read()).toMatchObject({
      draftsPerTemplate: { total: 4, near: 0 },
      scheduledSends: { total: 2, near: 1 },
    })
    await store.transaction((tx) => tx.limits.set(workspaceId, { draftsPerTemplate: 3 }))
    expect((await read()).draftsPerTemplate).toEqual({ total: 4, near: 1 })
  })

  test('rolled-back changes emit no event', async () => {
    const { database } = await openTestStore(dialect)
    const event: StoreEvent[] = []
    const store = createStore(database, { onEvent: (one) => event.push(one) })
    const workspaceId = await insertWorkspace(store)
    const job = { workspaceId, kind: 'issue-pass' as const, subject: newId(start), correlationId: null }
    await store.transaction((tx) => tx.jobs.insert([job], start))
    const complete = (isUndone: boolean) =>
      store.transaction(async (tx) => {
        await tx.jobs.complete(await tx.jobs.claim('issuing', start, claim))
        if (isUndone) throw new Error('undone')
      })
    await expect(complete(true)).rejects.toThrow('undone')
    expect(event).toEqual([])
    await complete(false)
    expect(event).toEqual([{ what: 'runs', kind: 'issue-pass', outcome: 'done', count: 1 }])
  })
})

test('on sqlite, jobs and deliveries are counted with indexes of pending ones', async () => {
  const { database, store } = await openTestStore('sqlite')
  const statements: Statement[] = []
  database.reader.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
  await store.overviews.read(start)
  const asked = statements.splice(0).filter(({ sql }) => /jobs|deliveries/.test(sql))
  const plans = await Promise.all(asked.map((one) => explainSqlite(database.reader, one)))
  const indexes = plans.map(({ text }) => /USING (?:COVERING )?INDEX (\w+)/.exec(text)?.[1])
  expect(indexes.sort()).toEqual([
    'jobs_claimed',
    'jobs_due',
    'jobs_failed',
    'jobs_of_workspace',
    'webhook_deliveries_due',
  ])
})
