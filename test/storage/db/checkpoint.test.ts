import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sqliteFile } from '../../../src/storage/db/database.ts'
import { eventually } from '../../support/eventually.ts'
import { openTestStore } from '../fixtures.ts'

test("SQLite's log is copied into the database while it is open, and not by its writer", async () => {
  const { url, database } = await openTestStore('sqlite')
  // Far more than the migrations wrote.
  const [pragma] = await database.writer.raw('PRAGMA wal_autocheckpoint')
  expect(pragma.wal_autocheckpoint * 4096).toBeGreaterThan(50_000_000)
  await eventually(() => expect(statSync(sqliteFile(url)!).size).toBeGreaterThan(100_000))
})
