import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { backUp } from '../../../src/server/operator/backup.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'

const code = vi.hoisted(() => ({ current: '' }))

vi.mock('../../../src/storage/db/sqlite-file.ts', async (importOriginal) => ({
  ...(await importOriginal<typeof import('../../../src/storage/db/sqlite-file.ts')>()),
  copyInto: async () => {
    throw Object.assign(new Error("VACUUM INTO 'x' - failed"), { code: code.current })
  },
}))

test.each([
  ['SQLITE_FULL', /The disk of .*backup is full. Nothing was changed/, /^free space in .*another disk$/],
  ['SQLITE_CORRUPT', /The database .*passes.db cannot be used: it is damaged/, /restore the last backup/],
])('a backup that fails with %s says what to do, without SQL, and leaves no file', async (failure, message, fix) => {
  code.current = failure
  const folder = temporaryFolder()
  const database = join(folder, 'passes.db')
  const opened = openDatabase(`sqlite:${database}`)
  await migrate(opened)
  await opened.close()
  const error = await errorOf(backUp(database, join(folder, 'backup'), { force: false, onProgress: () => undefined }))
  expect(error).toMatchObject({ message: expect.stringMatching(message), fix: expect.stringMatching(fix) })
  expect((error as Error).message).not.toContain('VACUUM')
  expect(readdirSync(folder)).toEqual(['passes.db'])
})
