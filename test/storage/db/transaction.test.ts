import { describe, expect, test } from 'vitest'
import type { DuePlace } from '../../../src/storage/jobs/job-kinds.ts'
import { createStore, type Store } from '../../../src/storage/store.ts'
import { dialects } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'
import { eventually } from '../../support/eventually.ts'
import {
  insertPasses,
  insertTemplate,
  insertWorkspace,
  newPass,
  openTestDatabase,
  openTestStore,
  start,
} from '../fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  test('a transaction that throws leaves none of its rows, in any table', async () => {
    const { store, database } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const pass = newPass(version)
    const attempt = store.transaction(async (tx) => {
      await tx.passes.insert(workspaceId, [pass], start)
      await tx.jobs.insert([{ workspaceId, kind: 'issue-pass', subject: pass.id, correlationId: null }], start)
      await tx.settings.insert('name', 'value')
      await tx.projects.insert(workspaceId, { name: 'Tour', description: '', color: 'gray' }, start)
      throw new Error('changed my mind')
    })
    await expect(attempt).rejects.toThrow('changed my mind')
    for (const table of ['passes', 'pass_identifiers', 'pass_variables', 'jobs', 'settings', 'projects']) {
      expect(await database.reader(table), table).toEqual([])
    }
    await insertPasses(store, workspaceId, [pass])
    expect(await store.passes.find(workspaceId, pass.id)).toBeDefined()
  })

  test('workers are notified of jobs once they are committed, and not of jobs that were rolled back', async () => {
    const told: DuePlace[] = []
    let visible: boolean | undefined
    const { store } = await openTestStore(dialect, (place) => {
      told.push(place)
    })
    const workspaceId = await insertWorkspace(store)
    const job = { workspaceId, kind: 'issue-pass', subject: workspaceId, correlationId: null } as const
    const failing = store.transaction(async (tx) => {
      await tx.jobs.insert([job], start)
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(told).toEqual([])
    await store.transaction(async (tx) => {
      await tx.jobs.insert([job], start)
      visible = told.length > 0
    })
    expect([told, visible]).toEqual([[{ queue: 'issuing', priority: 'interactive' }], false])
    await expect(store.jobs.insert([job], start)).rejects.toThrow('inside a transaction')
  })

  test('a transaction can read first and write later next to other writers: none fails, no update is lost', async () => {
    const { store, url } = await openTestStore(dialect)
    await store.transaction((tx) => tx.settings.insert('count', '0'))
    const stores = [store, ...Array.from({ length: 3 }, () => createStore(openTestDatabase(url)))]
    const attempts = Array.from({ length: 80 }, (_, n) => count(stores[n % stores.length]!))
    if (dialect === 'sqlite') {
      await Promise.all(attempts)
      expect(await store.settings.find('count')).toBe('80')
    } else {
      // The order of the attempts is undefined, but none must fail.
      await expect(Promise.all(attempts)).resolves.toHaveLength(80)
    }
  })
})

test('on sqlite, reader connections reject writes', async () => {
  const { database } = await openTestStore('sqlite')
  await expect(database.reader('settings').insert({ name: 'a', value: 'b' })).rejects.toMatchObject({
    code: 'SQLITE_READONLY',
  })
  expect(await database.writer('settings')).toEqual([])
})

test('a write proceeds on sqlite while the maximum number of reads is running', async () => {
  const { store, database } = await openTestStore('sqlite')
  await store.transaction((tx) => tx.settings.insert('name', 'first'))
  const endless = 'with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n'
  // A fourth read would wait for a connection, at most 5 s.
  const held = await Promise.all([1, 2, 3].map(() => database.reader.client.acquireConnection()))
  let ended = 0
  const reads = held.map((connection) =>
    errorOf(database.reader.raw(endless).connection(connection)).then(() => {
      ended += 1
    }),
  )
  await store.transaction((tx) => tx.settings.update('name', 'second'))
  expect(ended).toBe(0)
  // Repeat the interrupt, because a statement that has not begun ignores it.
  await eventually(() => {
    for (const connection of held) connection.interrupt()
    expect(ended).toBe(held.length)
  })
  await Promise.all(reads)
  for (const connection of held) database.reader.client.releaseConnection(connection)
})

async function count(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    const value = Number(await tx.settings.find('count'))
    await tx.settings.update('count', String(value + 1))
  })
}
