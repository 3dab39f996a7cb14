import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startDatabaseWatch } from '../../../src/server/metrics/database-watch.ts'
import type { Database } from '../../../src/storage/db/database.ts'
import {
  insertTemplate,
  insertWorkspace,
  newPass,
  openTestDatabase,
  openTestStore,
  start,
} from '../../storage/fixtures.ts'
import { dialects } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'

async function watchOver(database: Database, clock = () => new Date()) {
  const log = pino({ level: 'silent' })
  const watch = await startDatabaseWatch({ database, clock, log, isFrozen: false })
  onTestFinished(() => watch.stop())
  return async () => {
    await watch.probe()
    return watch
  }
}

describe.each(dialects)('on %s', (dialect) => {
  test('reports an intact database as writable, and leaves no row in it', async () => {
    const { database } = await openTestStore(dialect)
    const look = await watchOver(database)
    expect((await look()).isWritable()).toBe(true)
    expect(await database.reader('settings').where('name', 'like', 'probe%')).toEqual([])
  })

  test('reports when a database becomes read-only and when it is writable again', async () => {
    const { url, database } = await openTestStore(dialect)
    const look = await watchOver(database)
    const set = async (isReadOnly: boolean) => {
      if (dialect === 'sqlite') return database.writer.raw(`pragma query_only = ${isReadOnly}`)
      const admin = openTestDatabase(url)
      await admin.writer.raw(
        `begin read write; alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = ${isReadOnly}; commit`,
      )
      // The setting applies to new sessions only, so end the current ones.
      await admin.writer.raw(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`)
    }
    await set(true)
    // The first check on PostgreSQL uses a connection that has ended.
    await look()
    expect((await look()).isWritable()).toBe(false)
    await set(false)
    await look()
    expect((await look()).isWritable()).toBe(true)
  })
})

test('reports when a SQLite file is full and when it has space again', async () => {
  const { store, url, database } = await openTestStore('sqlite')
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  const [{ page_count: pages }] = await database.reader.raw('PRAGMA page_count')
  const full = openTestDatabase(url, { maxPages: pages })
  const look = await watchOver(full)
  const fill = async () => {
    for (;;) await store.transaction((tx) => tx.passes.insert(workspaceId, [newPass(version)], start))
  }
  await database.writer.raw(`pragma max_page_count = ${pages}`)
  expect(await errorOf(fill())).toMatchObject({ code: 'SQLITE_FULL' })
  expect((await look()).isWritable()).toBe(false)
  await full.writer.raw('pragma max_page_count = 1000000')
  expect((await look()).isWritable()).toBe(true)
})

test.skipIf(dialects.length === 1)('reports a table of PostgreSQL that another session has locked', async () => {
  const { url, database } = await openTestStore('postgres')
  const look = await watchOver(openTestDatabase(url, { statementLimitMs: 100 }))
  await database.writer.transaction(async (tx) => {
    await tx.raw('lock table scans in share mode')
    expect((await look()).isWritable()).toBe(false)
  })
  expect((await look()).isWritable()).toBe(true)
})

test.skipIf(dialects.length === 1)('compares the server clock with that of PostgreSQL', async () => {
  const { database } = await openTestStore('postgres')
  let ahead = 0
  const look = await watchOver(database, () => new Date(Date.now() + ahead * 1000))
  const skewAt = async (seconds: number) => {
    ahead = seconds
    const watch = await look()
    return [Math.round(watch.clockSkewSeconds()! / 10) * 10, watch.isClockOff()]
  }
  expect(await skewAt(20)).toEqual([20, false])
  expect(await skewAt(3600)).toEqual([3600, true])
  expect(await skewAt(-60)).toEqual([-60, true])
  expect((await skewAt(0))[1]).toBe(false)
})

test('reports no clock difference on SQLite', async () => {
  const { database } = await openTestStore('sqlite')
  const look = await watchOver(database, () => new Date(0))
  const watch = await look()
  expect([watch.clockSkewSeconds(), watch.isClockOff()]).toEqual([undefined, false])
})
