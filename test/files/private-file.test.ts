import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import * as files from '../../src/files/private-file.ts'
import { openDatabase } from '../../src/storage/db/database.ts'
import { migrate } from '../../src/storage/db/migrate.ts'
import { temporaryFolder } from '../support/databases.ts'

beforeAll(() => {
  const umask = process.umask(0)
  return () => void process.umask(umask)
})

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

const makers: [string, (path: string) => unknown, string][] = [
  ['openPrivate', async (path) => (await files.openPrivate(path, 'w')).close(), '600'],
  ['openPrivateSync', (path) => files.openPrivateSync(path, 'a'), '600'],
  ['writePrivate', (path) => files.writePrivate(path, 'text'), '600'],
  ['beginReplacement', replaceInPieces, '600'],
  ['replacePrivateSync', (path) => files.replacePrivateSync(path, 'text'), '600'],
  ['makePrivateFolder', (path) => files.makePrivateFolder(path), '700'],
]
function replaceInPieces(path: string): void {
  const draft = files.beginReplacement(path)
  for (const piece of ['te', 'xt']) draft.write(piece)
  draft.commit()
  draft.close()
}

test.each(makers)('%s creates private files and folders even under an open umask', async (_, make, mode) => {
  const path = join(temporaryFolder(), 'new')
  await make(path)
  expect(modeOf(path)).toBe(mode)
  expect(files.isOpenToOthers(path)).toBe(false)
})

test('keeps the mode of an existing file', async () => {
  const path = join(temporaryFolder(), 'theirs')
  writeFileSync(path, 'before')
  chmodSync(path, 0o644)
  await files.writePrivate(path, 'after')
  expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual(['644', 'after'])
  expect(files.isOpenToOthers(path)).toBe(true)
})

test('replacing a file keeps its mode and its symbolic link', () => {
  const folder = temporaryFolder()
  const [path, link] = [join(folder, 'theirs'), join(folder, 'link')]
  writeFileSync(path, 'before')
  chmodSync(path, 0o664)
  symlinkSync(path, link)
  files.replaceOwnSync(link, 'after')
  expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual(['664', 'after'])
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readdirSync(folder).sort()).toEqual(['link', 'theirs'])
})

test('a write that was not committed leaves the file unchanged, and nothing next to it', () => {
  const folder = temporaryFolder()
  const path = join(folder, 'list')
  files.replacePrivateSync(path, 'before')
  const draft = files.beginReplacement(path)
  draft.write('half of')
  draft.close()
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['before', ['list']])
})

test('an error of a write names the file', async () => {
  const path = join(temporaryFolder(), 'list')
  const draft = files.beginReplacement(path)
  draft.close()
  expect(() => draft.write('text')).toThrow(expect.objectContaining({ path }))

  const probe = await open(path, 'w')
  const handles: typeof probe = Object.getPrototypeOf(probe)
  await probe.close()
  const full = new Error('ENOSPC: no space left on device, write')
  for (const method of ['appendFile', 'writeFile'] as const) {
    const spy = vi.spyOn(handles, method).mockRejectedValue(full)
    onTestFinished(() => spy.mockRestore())
  }
  async function* pieces() {
    yield 'text'
  }
  await expect(files.writePrivate(path, 'text')).rejects.toMatchObject({ path })
  const whole = `${path}.csv`
  await expect(files.writePrivateWhole(whole, pieces(), { replaces: false })).rejects.toMatchObject({ path: whole })
})

test('a SQLite database and the files next to it are private from the start', async () => {
  const path = join(temporaryFolder(), 'passes.db')
  const database = openDatabase(`sqlite:${path}`)
  await migrate(database)
  expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual(['600', '600', '600'])
  await database.close()
})
