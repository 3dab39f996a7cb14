import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { describeFailure } from '../../../src/cli/command/failure.ts'
import { withNewStore, withStore } from '../../../src/server/operator/operator.ts'
import { temporaryFolder } from '../../support/databases.ts'

const look = (url: string) =>
  withNewStore(url, (store) => store.workspaces.list()).then(
    () => undefined,
    (error: unknown) => describeFailure(error),
  )

test.each<[what: string, url: () => string, why: string, fix: string]>([
  ['a folder that is not there', () => 'sqlite:/no-such-folder/a.db', 'it cannot be opened', 'its folder is there'],
  ['a file of another kind', () => `sqlite:${textFile()}`, 'it is no SQLite database', 'move that file away'],
  ['no server', () => 'postgres://me:secret@127.0.0.1:1/x', 'nothing answers there', 'start PostgreSQL'],
  ['no host', () => 'postgres://me:secret@passes.invalid/x', 'no host has that name', 'see to the name'],
  ['no such database', () => `${inject('postgresUrl')}nobody`, 'no database of that name', 'createdb'],
])('%s is said as what it is, with the place and without password or SQL', async (_, url, why, fix) => {
  const databaseUrl = url()
  const failure = await look(databaseUrl)
  expect(failure).toMatchObject({ code: 'SETUP', message: expect.stringContaining(why), reasons: [] })
  expect(failure?.hint).toContain(fix)
  expect(failure?.message).toContain(databaseUrl.split(/@|sqlite:/).at(-1))
  expect(failure?.message).not.toMatch(/secret|select/)
})

test('a command that only looks makes no SQLite file', async () => {
  const file = join(temporaryFolder(), 'passes.db')
  await expect(withStore(`sqlite:${file}`, async () => undefined)).rejects.toThrow(
    `${file} cannot be used: there is no such file`,
  )
  expect(await withNewStore(`sqlite:${file}`, (store) => store.workspaces.list())).toEqual([])
  expect(await withStore(`sqlite:${file}`, (store) => store.workspaces.list())).toEqual([])
})

function textFile(): string {
  const file = join(temporaryFolder(), 'text.db')
  writeFileSync(file, 'no database at all. '.repeat(100))
  return file
}
