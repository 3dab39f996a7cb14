import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sqlite3 from 'sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { backUp } from '../../../src/server/operator/backup.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'

/** Lets the driver fail copies to this folder with this code of SQLite, which leaves the journal of the copy. */
function failCopies(code: string, folder: string): void {
  const { prepare } = sqlite3.Database.prototype
  const spy = vi.spyOn(sqlite3.Database.prototype, 'prepare').mockImplementation(function (
    this: sqlite3.Database,
    ...args: unknown[]
  ) {
    if (!String(args[0]).startsWith('VACUUM INTO')) return Reflect.apply(prepare, this, args) as sqlite3.Statement
    const draft = readdirSync(folder).find((name) => name.endsWith('.part'))!
    writeFileSync(join(folder, `${draft}-journal`), '')
    const done = args.at(-1) as (error: Error) => void
    process.nextTick(() => done(Object.assign(new Error(`${code}: ${args[0]}`), { code })))
    return undefined as unknown as sqlite3.Statement
  })
  onTestFinished(() => spy.mockRestore())
}

test.each([
  ['SQLITE_FULL', /The disk of .*backup is full. Nothing was changed/, /^free space in .*another disk$/],
  ['SQLITE_CORRUPT', /The database .*passes.db cannot be used: it is damaged/, /restore the last backup/],
])('a backup that fails with %s shows a fix, hides the SQL, and leaves no file', async (code, message, fix) => {
  const folder = temporaryFolder()
  const database = join(folder, 'passes.db')
  const opened = openDatabase(`sqlite:${database}`)
  await migrate(opened)
  await opened.close()
  failCopies(code, folder)
  const error = await errorOf(backUp(database, join(folder, 'backup'), { force: false, onProgress: () => undefined }))
  expect(error).toMatchObject({ message: expect.stringMatching(message), fix: expect.stringMatching(fix) })
  expect((error as Error).message).not.toContain('VACUUM')
  expect(readdirSync(folder)).toEqual(['passes.db'])
})
