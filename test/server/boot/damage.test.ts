import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs'
import { expect, test } from 'vitest'
import { assertSound } from '../../../src/server/boot/database-error.ts'
import { createReadiness } from '../../../src/server/http/readiness.ts'
import { type Database, openDatabase } from '../../../src/storage/db/database.ts'
import { isUnavailable } from '../../../src/storage/db/database-errors.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { createStore } from '../../../src/storage/store.ts'
import { insertWorkspace, openTestDatabase, start } from '../../storage/fixtures.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { errorOf } from '../../support/error-of.ts'

const PAGE = 4096

const state = { isWritable: () => true, isClockOff: () => false, isServing: () => true }

test('a damaged SQLite file is not ready and rejects writes until a start finds it intact', async () => {
  const url = await emptyDatabase('sqlite')
  const file = url.slice('sqlite:'.length)
  const before = openDatabase(url)
  await migrate(before)
  const store = createStore(before)
  const workspaceId = await insertWorkspace(store)
  const project = { name: 'Autumn', description: '', color: 'gray' as const }
  await store.transaction((tx) => tx.projects.insert(workspaceId, project, start))
  const page = await rootOf(before, 'projects')
  await before.close()
  const sound = overwrite(file, page, Buffer.alloc(PAGE, 0xa5))

  await assertSound(url)
  const damaged = openDatabase(url)
  const later = createStore(damaged)
  const readiness = createReadiness({ database: damaged, ...state })
  const list = () =>
    later.forRequests(workspaceId).projects.list(workspaceId, { limit: 1, sortBy: 'name', sortDir: 'asc' })
  const write = () => later.transaction((tx) => tx.settings.insert('a', 'b'))
  // The damage has not been read yet.
  expect((await readiness()).integrity).toBe(true)
  await write()
  expect(isUnavailable(await errorOf(list()))).toBe(true)
  expect(await readiness()).toEqual({
    database: true,
    migrations: true,
    writable: true,
    integrity: false,
    serving: true,
  })
  const rejections = [write(), later.forRequests(workspaceId).transaction((tx) => tx.settings.insert('c', 'd'))]
  for (const rejection of rejections) expect(isUnavailable(await errorOf(rejection))).toBe(true)
  expect(await later.settings.find('a')).toBe('b')
  await damaged.close()

  expect(String(await errorOf(assertSound(url)))).toMatch(/found the file damaged/)
  overwrite(file, page, sound)
  await assertSound(url)
  expect(existsSync(`${file}-damaged`)).toBe(false)
  const mended = openTestDatabase(url)
  await createStore(mended).transaction((tx) => tx.settings.insert('e', 'f'))
  expect((await createReadiness({ database: mended, ...state })()).integrity).toBe(true)
})

async function rootOf({ writer }: Database, table: string): Promise<number> {
  const [{ rootpage }] = await writer.raw('select rootpage from sqlite_schema where name = ?', [table])
  return rootpage
}

/** Overwrites one page of the file. Returns its previous content. */
function overwrite(file: string, page: number, content: Buffer): Buffer {
  const descriptor = openSync(file, 'r+')
  try {
    const at = (page - 1) * PAGE
    const old = Buffer.alloc(PAGE)
    readSync(descriptor, old, 0, PAGE, at)
    writeSync(descriptor, content, 0, PAGE, at)
    return old
  } finally {
    closeSync(descriptor)
  }
}
