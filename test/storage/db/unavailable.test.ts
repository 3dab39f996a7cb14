import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Knex } from 'knex'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { isUnavailable } from '../../../src/storage/db/database-errors.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects, emptyDatabase, overTcp } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'
import { eventually } from '../../support/eventually.ts'
import { insertTemplate, insertWorkspace, newPass, openTestDatabase, openTestStore, start } from '../fixtures.ts'

test.each([
  ['/srv/passes.db', '/srv/passes.db', '; did you mean sqlite:/srv/passes.db?'],
  ['mysql://passes:sec/r@t@db/passes', 'mysql://…@db/passes', ''],
  ['sqlite:', 'sqlite:', ''],
])('rejects the database %s without its password, and suggests a URL for a path', (url, shown, hint) => {
  const message = `The database must be sqlite:FILE or postgres://…, not "${shown}"${hint}`
  expect(() => openDatabase(url)).toThrow(expect.objectContaining({ message }))
})

test('reports a full SQLite file as unavailable, keeps it intact, and writes again with space', async () => {
  const { store: roomy, url, database } = await openTestStore('sqlite')
  const workspaceId = await insertWorkspace(roomy)
  const version = await insertTemplate(roomy, workspaceId)
  const [{ page_count: pages }] = await database.reader.raw('PRAGMA page_count')
  const full = openTestDatabase(url, { maxPages: pages + 20 })
  const store = createStore(full)
  const insertUntilFull = async () => {
    for (let n = 0; n < 100; n++) {
      const passes = Array.from({ length: 50 }, () => newPass(version))
      await store.transaction((tx) => tx.passes.insert(workspaceId, passes, start))
    }
  }
  expect(isUnavailable(await errorOf(insertUntilFull()))).toBe(true)
  const before = (await full.reader('passes').pluck('id')).length
  expect(before % 50).toBe(0)
  expect(await full.writer.raw('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  expect(await full.reader('pass_identifiers').pluck('pass_id')).toHaveLength(before)

  // Even a small statement reports this if it needs another page, although SQLite rolls back by itself.
  const insertOne = () => store.transaction((tx) => tx.passes.insert(workspaceId, [newPass(version)], start))
  const insertSettings = () =>
    store.transaction(async (tx) => {
      for (let n = 0; n < 200; n++) await tx.settings.insert(`${n}`, 'x'.repeat(2_000))
    })
  for (let n = 0; n < 5; n++) expect(await errorOf(insertSettings())).toMatchObject({ code: 'SQLITE_FULL' })
  expect(await full.reader('settings')).toEqual([])

  await full.writer.raw('PRAGMA max_page_count = 1000000')
  await insertOne()
  expect(await full.reader('passes').pluck('id')).toHaveLength(before + 1)
})

test('reports a SQLite file that another process keeps locked as unavailable', async () => {
  const { url, database } = await openTestStore('sqlite')
  const impatient = openTestDatabase(url)
  await impatient.writer.raw('PRAGMA busy_timeout = 20')
  await database.writer.transaction(async () => {
    const error = await errorOf(createStore(impatient).transaction((tx) => tx.settings.insert('a', 'b')))
    expect(error).toMatchObject({ code: 'SQLITE_BUSY' })
    expect(isUnavailable(error)).toBe(true)
  })
  await createStore(impatient).transaction((tx) => tx.settings.insert('a', 'b'))
})

test('reports PostgreSQL as unavailable if it ends a connection, and then reconnects', async () => {
  const { database } = await openTestStore('postgres')
  const own = 'select pg_terminate_backend(pg_backend_pid())'
  expect(isUnavailable(await errorOf(database.writer.raw(own)))).toBe(true)
  await expect(database.writer('settings')).resolves.toEqual([])
})

test('reports PostgreSQL as unavailable if a connection breaks silently, and then reconnects', async () => {
  const url = await emptyDatabase('postgres')
  const proxy = await openProxy(url)
  const database = openTestDatabase(proxy.url)
  const sleeping = errorOf(database.writer.raw('select pg_sleep(30)'))
  const watcher = openTestDatabase(url)
  await eventually(async () => {
    const running = watcher.reader('pg_stat_activity').where('query', 'like', 'select pg_sleep%')
    expect(await running.whereRaw('datname = current_database()')).toHaveLength(1)
  })
  proxy.breakConnections()
  expect(isUnavailable(await sleeping)).toBe(true)
  await expect(database.writer.raw('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] })
})

test('counts connections to PostgreSQL that stay silent as lost, and then reconnects', async () => {
  const { url } = await openTestStore('postgres')
  const proxy = await openProxy(url)
  const database = openTestDatabase(proxy.url, { responseLimitMs: 500 })
  const [requests, jobs] = [database.forRequests('a').writer, database.forJobs('a').writer]
  const inTransaction = (db: Knex) => db.transaction((tx) => tx('settings').forUpdate())
  const calls = [
    () => requests('settings'),
    () => jobs('settings'),
    () => database.writer('settings'),
    () => inTransaction(requests),
    () => inTransaction(jobs),
  ]
  for (const call of calls) {
    await expect(call()).resolves.toEqual([])
    proxy.silenceConnections()
    expect(isUnavailable(await errorOf(call()))).toBe(true)
    // Other connections that are silent too are not used again.
    for (const other of calls) await expect(other()).resolves.toEqual([])
  }
})

test('reports an unreachable PostgreSQL as unavailable', async () => {
  const database = openDatabase('postgres://postgres:postgres@127.0.0.1:1/passes')
  onTestFinished(() => database.close())
  expect(isUnavailable(await errorOf(database.writer.raw('select 1')))).toBe(true)
})

test('reports PostgreSQL as unavailable if each connection is closed at once', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const database = openTestDatabase(`postgres://postgres@127.0.0.1:${(server.address() as AddressInfo).port}/passes`)
  expect(isUnavailable(await errorOf(database.writer.raw('select 1')))).toBe(true)
})

test.each(dialects)('on %s, an invalid statement does not count as an unavailable database', async (dialect) => {
  const { database } = await openTestStore(dialect)
  for (const sql of ['select nonsense', 'insert into settings values (null, null)']) {
    expect(isUnavailable(await errorOf(database.writer.raw(sql)))).toBe(false)
  }
  expect(isUnavailable(new Error('SQLITE_BUSY'))).toBe(false)
  expect(isUnavailable('SQLITE_BUSY')).toBe(false)
})

test.each(dialects)('on %s, an error message shows the statement but none of its values', async (dialect) => {
  const { store } = await openTestStore(dialect)
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const pass = newPass(version, { label: 'Secret Holder' })
  const twice = store.transaction((tx) =>
    tx.passes.insert(workspaceId, [pass, { ...pass, externalPassId: 'b' }], start),
  )
  const error = await errorOf(twice)
  expect(String(error)).toMatch(/insert into \W?passes\b/)
  for (const secret of ['Secret Holder', pass.appleToken, pass.scanCode]) expect(String(error)).not.toContain(secret)
})

/** Opens a proxy to PostgreSQL whose connections can be cut. */
async function openProxy(databaseUrl: string) {
  const url = overTcp(databaseUrl)
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname)
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  return {
    url: url.replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`),
    breakConnections() {
      for (const socket of sockets) socket.destroy()
    },
    /** Stops forwarding the data of the open connections, without closing them. */
    silenceConnections() {
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
}
