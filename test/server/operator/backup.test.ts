import {
  appendFileSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import knex from 'knex'
import { expect, test } from 'vitest'
import { loadServerKeys } from '../../../src/server/boot/server-key.ts'
import type { Config } from '../../../src/server/config.ts'
import { backUp, restore } from '../../../src/server/operator/backup.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { migrate } from '../../../src/storage/db/migrate.ts'
import { createStore } from '../../../src/storage/store.ts'
import { migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { lacksDebianPostgres, startDebianPostgres } from '../../support/debian-postgres.ts'
import { onServer } from '../../support/migrated.ts'

const at = new Date('2026-07-01T12:00:00Z')
const quietly = { force: false, onProgress: () => undefined }

/** Creates a database with one workspace of this name, and a backup of the database. */
async function backedUp(name = 'Harbour Cinema') {
  const url = await migratedDatabase('sqlite')
  const opened = openDatabase(url)
  await createStore(opened).transaction((tx) => tx.workspaces.insert(name, at))
  await opened.close()
  const database = url.slice('sqlite:'.length)
  const folder = dirname(database)
  const file = join(folder, 'backup')
  const { bytes } = await backUp(database, file, quietly)
  expect(bytes).toBe(statSync(file).size)
  return { folder, database, file }
}

const restoreTo = (file: string, target: string, options: { force?: boolean; unverified?: boolean } = {}) =>
  restore(file, target, { force: false, unverified: false, at, ...options })

async function workspacesOf(file: string): Promise<string[]> {
  const db = knex({ client: 'sqlite3', connection: { filename: file }, useNullAsDefault: true })
  const names = await db('workspaces').pluck('name')
  await db.destroy()
  return names
}

const lengthOfDatabase = (file: string) => readFileSync(file).indexOf('\npasses-backup-1 ')

const damage: [string, (file: string) => void, string][] = [
  ['cut short by a page', (file) => truncateSync(file, lengthOfDatabase(file) - 4096), 'cut short'],
  ['cut short to its first page', (file) => truncateSync(file, 4096), 'cut short'],
  ['cut in its last line', (file) => truncateSync(file, statSync(file).size - 5), 'at its end'],
  ['with something behind it', (file) => appendFileSync(file, 'more'), 'at its end'],
  ['with one bit changed in a page', (file) => flip(file, lengthOfDatabase(file) - 3), 'checksum'],
  ['with its checksum changed', (file) => flip(file, statSync(file).size - 3), 'damaged'],
  ['that is text', (file) => writeFileSync(file, 'hello '.repeat(1_000)), 'not a SQLite database'],
  ['that is empty', (file) => truncateSync(file, 0), 'contains no database of passes'],
]
test.each(damage)(
  'rejects a backup %s, with or without --unverified, and creates no file',
  async (_, harm, message) => {
    const { folder, file } = await backedUp()
    harm(file)
    const target = join(folder, 'new.db')
    for (const unverified of [false, true]) {
      await expect(restoreTo(file, target, { unverified })).rejects.toThrow(message)
    }
    expect(readdirSync(folder).sort()).toEqual(['backup', 'passes.db'])
  },
)

test('restores a backup without a checksum only with --unverified', async () => {
  const { folder, file } = await backedUp()
  truncateSync(file, lengthOfDatabase(file))
  const target = join(folder, 'new.db')
  await expect(restoreTo(file, target)).rejects.toThrow('--unverified')
  expect(readdirSync(folder)).not.toContain('new.db')
  expect(await restoreTo(file, target, { unverified: true })).toMatchObject({ verified: false, replaced: null })
  expect(await workspacesOf(target)).toEqual(['Harbour Cinema'])
})

test('rejects a copy of a database without the changes in its write-ahead log', async () => {
  const { folder, file } = await backedUp()
  truncateSync(file, lengthOfDatabase(file))
  writeFileSync(`${file}-wal`, 'changes')
  const target = join(folder, 'new.db')
  await expect(restoreTo(file, target, { unverified: true })).rejects.toThrow(`newest changes are in ${file}-wal`)
  expect(readdirSync(folder)).not.toContain('new.db')
})

test('rejects the database of another program, even if it has a migrations table', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'theirs.db')
  const db = knex({ client: 'sqlite3', connection: { filename: file }, useNullAsDefault: true })
  await db.schema.createTable('migrations', (table) => table.text('id'))
  await db.destroy()
  await expect(restoreTo(file, join(folder, 'new.db'), { unverified: true })).rejects.toThrow(
    'contains no database of passes',
  )
})

test('a backup is a readable database, and the restored database has no checksum', async () => {
  const { folder, database, file } = await backedUp()
  expect(await workspacesOf(file)).toEqual(['Harbour Cinema'])
  const target = join(folder, 'new.db')
  expect(await restoreTo(file, target)).toMatchObject({ verified: true })
  expect(lengthOfDatabase(target)).toBe(-1)
  expect(statSync(target).mode & 0o777).toBe(0o600)
  expect(statSync(target).size % 4096).toBe(0)
  expect(await workspacesOf(database)).toEqual(await workspacesOf(target))
})

test('rejects a concurrent backup or restore, and --force keeps the replaced database', async () => {
  const { folder, database, file } = await backedUp()
  const target = join(folder, 'new.db')
  const restores = await Promise.allSettled([restoreTo(file, target), restoreTo(file, target)])
  expect(restores.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await expect(restoreTo(file, target)).rejects.toThrow('--force replaces it')
  const { replaced } = await restoreTo(file, target, { force: true })
  expect(await workspacesOf(replaced!)).toEqual(['Harbour Cinema'])
  const second = join(folder, 'second')
  const backups = await Promise.allSettled([backUp(database, second, quietly), backUp(database, second, quietly)])
  expect(backups.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(readdirSync(dirname(target)).filter((name) => name.endsWith('.part'))).toEqual([])
  const wrong = join(folder, 'wrong')
  copyFileSync(database, wrong)
  await expect(restoreTo(wrong, target, { force: true })).rejects.toThrow('no checksum')
})

test('a server creates no key next to a restored database that needs another key', async () => {
  const { database, folder } = await backedUp()
  const keysOf = async (file: string, previousServerKeys: string[] = []) => {
    const opened = openDatabase(`sqlite:${file}`)
    const config = { databaseUrl: `sqlite:${file}`, previousServerKeys } as Partial<Config> as Config
    return loadServerKeys(config, createStore(opened)).finally(() => opened.close())
  }
  await keysOf(database)
  const used = join(folder, 'used')
  await backUp(database, used, quietly)
  const target = join(folder, 'restored.db')
  expect(await restoreTo(used, target)).toMatchObject({ key: 'missing' })
  await expect(keysOf(target)).rejects.toThrow('does not match this database')
  expect(existsSync(`${target}.key`)).toBe(false)
  await keysOf(target, [readFileSync(`${database}.key`, 'utf8')])
  expect(existsSync(`${target}.key`)).toBe(true)
})

test.each(['passes.db', 'passes.db-wal', 'passes.db.key', 'passes.db.token', 'hard-link'])(
  'rejects %s of the database itself as the backup file, even with --force',
  async (name) => {
    const { folder, database } = await backedUp()
    linkSync(database, join(folder, 'hard-link'))
    const before = readFileSync(database)
    const target = join(folder, name)
    await expect(backUp(database, target, { ...quietly, force: true })).rejects.toThrow(
      'belongs to the database itself',
    )
    expect(readFileSync(database).equals(before)).toBe(true)
  },
)

test('--force replaces an earlier backup, but no other file', async () => {
  const { folder, database, file } = await backedUp()
  const forced = (target: string) => backUp(database, target, { ...quietly, force: true })
  await expect(forced(file)).resolves.toMatchObject({ file })
  const other = join(folder, 'other.db')
  copyFileSync(database, other)
  const list = join(folder, 'guests.csv')
  writeFileSync(list, 'externalPassId,label\n')
  await expect(backUp(list, join(folder, 'new'), quietly)).rejects.toThrow('it is not a SQLite database')
  for (const path of [other, list]) {
    const before = readFileSync(path)
    await expect(forced(path)).rejects.toThrow(`${path} exists and is not a backup`)
    expect(readFileSync(path).equals(before)).toBe(true)
  }
})

test('rejects the target of a symbolic link to the database as the backup file', async () => {
  const { folder, database } = await backedUp()
  const alias = join(folder, 'alias.db')
  symlinkSync(database, alias)
  for (const target of [database, `${database}-wal`]) {
    await expect(backUp(alias, target, { ...quietly, force: true })).rejects.toThrow('belongs to the database itself')
  }
})

test('names the development build that made a backup, and restores nothing from it', async () => {
  const { folder, database } = await backedUp()
  const opened = openDatabase(`sqlite:${database}`)
  await opened.writer('migrations').insert([{ name: '0001-start' }, { name: '0049-doors' }])
  await opened.close()
  const restoring = restoreTo(database, join(folder, 'new.db'), { unverified: true })
  await expect(restoring).rejects.toThrow(
    'was created by a development build before version 0.3.0. Nothing was changed.',
  )
})

test('documents a statement that skips update tags after pg_restore', async () => {
  const { database } = await backedUp()
  const [, statement] = /psql .* -c "(update .*)"/.exec(readFileSync('docs/backup.md', 'utf8'))!
  const opened = openDatabase(`sqlite:${database}`)
  const tag = () => opened.writer('sequences').where({ name: 'update-tag' }).first('value')
  const { value } = await tag()
  await opened.writer.raw(statement!)
  expect(await tag()).toEqual({ value: value + 1_000_000_000 })
  await opened.close()
})

test.skipIf(lacksDebianPostgres)(
  'restores PostgreSQL by the documented commands if an administrator created the extensions',
  async () => {
    const { url, programs } = await startDebianPostgres()
    await onServer(url, 'create role app login')
    const extensions = 'create extension pg_trgm; create extension pg_stat_statements'
    const createDatabase = async (name: string) => {
      await onServer(url, `create database ${name} owner app`)
      await onServer(url, extensions, name)
      return url.replace('postgres@', 'app@') + name
    }
    const address = await createDatabase('passes')
    const database = openDatabase(address)
    await migrate(database)
    await createStore(database).transaction((tx) => tx.workspaces.insert('Harbour Cinema', at))
    const [, commands] = /## PostgreSQL\s+```sh\n([\s\S]*?)```/.exec(readFileSync('docs/backup.md', 'utf8'))!
    const [dump, restoring] = commands!.split(/(?=^pg_restore --list)/m) as [string, string]
    const cwd = temporaryFolder()
    const execute = (script: string, target: string) =>
      execa('bash', ['-euc', script], {
        cwd,
        env: { PASSES_DATABASE_URL: target, PATH: `${programs}:${process.env.PATH}` },
      })
    await execute(dump, address)
    await createStore(database).transaction((tx) => tx.workspaces.insert('Created after the dump', at))
    await database.close()
    for (const target of [address, await createDatabase('other')]) {
      await execute(restoring, target)
      const restored = openDatabase(target)
      expect(await restored.reader('workspaces').pluck('name')).toEqual(['Harbour Cinema'])
      expect(await restored.reader('sequences').where({ name: 'update-tag' }).first('value')).toEqual({
        value: 1_000_000_000,
      })
      await restored.close()
    }
  },
)

function flip(file: string, position: number): void {
  const bytes = readFileSync(file)
  bytes[position]! ^= 1
  writeFileSync(file, bytes)
}
