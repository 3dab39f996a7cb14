import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Database } from '../../../src/storage/db/database.ts'
import { isUnavailable } from '../../../src/storage/db/database-errors.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { createStore, type Repositories } from '../../../src/storage/store.ts'
import { errorOf } from '../../support/error-of.ts'
import {
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestDatabase,
  openTestStore,
  start,
} from '../fixtures.ts'

test('locks of a server that hangs in a PostgreSQL transaction are released automatically', async () => {
  const { store, url } = await openTestStore('postgres')
  const workspaceId = await insertWorkspace(store)
  const [passId] = await insertPasses(store, workspaceId, [newPass(await insertTemplate(store, workspaceId))])
  const device = { passId: passId!, deviceId: 'phone', pushToken: 'token' }
  await store.transaction((tx) => tx.registrations.insert(workspaceId, device, start))

  // Set shorter timeouts in the query of the URL, so that the test waits less than a server.
  const hung = openTestDatabase(`${url}?idle_in_transaction_session_timeout=1500`)
  const outcome = await errorOf(
    createStore(hung).transaction(async (tx) => {
      await tx.registrations.bumpUpdateTag(workspaceId, [passId!])
      await store.transaction((other) => other.registrations.bumpUpdateTag(workspaceId, [passId!]))
      await tx.registrations.bumpUpdateTag(workspaceId, [passId!])
    }),
  )
  expect(isUnavailable(outcome)).toBe(true)
  await createStore(hung).transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, [passId!]))
  expect((await store.deviceLists.listChanged('phone', { tag: 0 }, [null], start)).place.tag).toBe(2)
})

test('reports PostgreSQL as unavailable if a row stays locked beyond the lock timeout', async () => {
  const { store, url } = await openTestStore('postgres')
  const impatient = createStore(openTestDatabase(`${url}?lock_timeout=50`))
  const write = (value: string) => (tx: Repositories) => tx.settings.update('name', value)
  await store.transaction((tx) => tx.settings.insert('name', 'first'))
  await store.transaction(async (tx) => {
    await write('second')(tx)
    const error = await errorOf(impatient.transaction(write('third')))
    expect(error).toMatchObject({ code: '55P03' })
    expect(isUnavailable(error)).toBe(true)
  })
  await impatient.transaction(write('third'))
})

test('on PostgreSQL, the lock timeout is 5 s and the idle-in-transaction timeout is 10 s', async () => {
  const { database } = await openTestStore('postgres')
  expect(await show(database, 'lock_timeout')).toBe('5s')
  expect(await show(database, 'idle_in_transaction_session_timeout')).toBe('10s')
})

test('servers that start during a migration of PostgreSQL wait for it beyond the lock timeout', async () => {
  const { url, database } = await openTestStore('postgres')
  const impatient = openTestDatabase(`${url}?lock_timeout=50`)
  let waiting: Promise<string[]> | undefined
  await database.writer.transaction(async (tx) => {
    await tx.raw('lock table migrations')
    waiting = migrate(impatient)
    await tx.raw('select pg_sleep(0.2)')
  })
  expect(await waiting).toEqual([])
})

test('reports a read-only PostgreSQL as unavailable, and the next statement reconnects', async () => {
  const { database } = await openTestStore('postgres')
  await database.writer.raw('set default_transaction_read_only = on')
  const error = await errorOf(database.writer('settings').insert({ name: 'a', value: 'b' }))
  expect(error).toMatchObject({ code: '25006' })
  expect(isUnavailable(error)).toBe(true)
  await database.writer('settings').insert({ name: 'a', value: 'b' })
})

test('on PostgreSQL, releases jobs with an expired lease except those locked by a hung worker', async () => {
  const { store, url } = await openTestStore('postgres')
  const workspaceId = randomUUID()
  const subjects = [randomUUID(), randomUUID()]
  const jobs = subjects.map((subject) => ({
    workspaceId,
    kind: 'issue-pass' as const,
    subject,
    correlationId: null,
  }))
  await store.transaction((tx) => tx.jobs.insert(jobs, start))
  const claimed = await store.transaction((tx) => tx.jobs.claim('issuing', start, { limit: 2, leaseSeconds: 10 }))
  const impatient = createStore(openTestDatabase(`${url}?lock_timeout=50`))
  const release = () => impatient.transaction((tx) => tx.jobs.release(later(10)))
  await store.transaction(async (tx) => {
    await tx.jobs.complete(claimed.filter(({ subject }) => subject === subjects[0]))
    expect(await release()).toMatchObject([{ subject: subjects[1] }])
  })
  expect(await release()).toEqual([])
})

async function show(database: Database, setting: string): Promise<unknown> {
  const { rows } = await database.writer.raw(`show ${setting}`)
  return rows[0][setting]
}
