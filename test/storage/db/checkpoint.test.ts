import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sqliteFile } from '../../../src/storage/db/database.ts'
import { eventually } from '../../support/eventually.ts'
import { openTestStore } from '../fixtures.ts'

test("SQLite's log is checkpointed while the database is open, but not by its writer", async () => {
  const { url, database } = await openTestStore('sqlite')
  const [pragma] = await database.writer.raw('PRAGMA wal_autocheckpoint')
  expect(pragma.wal_autocheckpoint).toBe(0)
  await eventually(() => expect(statSync(sqliteFile(url)!).size).toBeGreaterThan(100_000))
})

test('a long log restarts while a writer never pauses', async () => {
  const { url, database } = await openTestStore('sqlite')
  await database.writer.raw('create table filler (id integer primary key, data blob)')
  const log = `${sqliteFile(url)}-wal`
  const before = beginningsOf(log)
  const end = performance.now() + 20_000
  while (beginningsOf(log) === before && performance.now() < end) {
    await database.writer.raw('insert or replace into filler values (1, zeroblob(1000000))')
  }
  expect(beginningsOf(log)).toBeGreaterThan(before)
})

/** Returns the number of restarts of a write-ahead log, from its header. */
function beginningsOf(log: string): number {
  const file = openSync(log, 'r')
  const header = Buffer.alloc(32)
  readSync(file, header, 0, header.length, 0)
  closeSync(file)
  return header.readUInt32BE(12)
}
