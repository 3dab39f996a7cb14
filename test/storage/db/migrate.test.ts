import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import type { Database } from '../../../src/storage/db/database.ts'
import {
  MIGRATION_LOCK,
  type Migrations,
  migrate,
  pendingMigrations,
  unknownMigrations,
} from '../../../src/storage/db/migrate.ts'
import * as baseline from '../../../src/storage/migrations/0001-baseline.ts'
import { createStore } from '../../../src/storage/store.ts'
import { dialects, emptyDatabase, migratedDatabase } from '../../support/databases.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestDatabase } from '../fixtures.ts'

/** Every migration file in the folder, sorted by its number. */
const all = readdirSync(join(import.meta.dirname, '../../../src/storage/migrations'))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replace(/\.ts$/, ''))
  .sort()
const tables = ['settings', 'workspaces', 'tokens', 'projects', 'templates', 'passes', 'jobs', 'events']

describe.each(dialects)('on %s', (dialect) => {
  test('migrating brings an empty database up to date, and a second time changes nothing', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    expect(await pendingMigrations(database)).toEqual(all)
    expect(await migrate(database)).toEqual(all)
    expect(await pendingMigrations(database)).toEqual([])
    expect(await migrate(database)).toEqual([])
    expect(await existing(database)).toEqual(tables)
  })

  test('one of several concurrent servers migrates the database, and all continue', async () => {
    const url = await emptyDatabase(dialect)
    const servers = Array.from({ length: 4 }, () => openTestDatabase(url))
    const applied = await Promise.all(servers.map((server) => migrate(server)))
    expect(applied.filter((names) => names.length > 0)).toEqual([all])
    for (const server of servers) expect(await pendingMigrations(server)).toEqual([])
  })

  // PostgreSQL waits for the lock of migrations, without a limit.
  test.runIf(dialect === 'sqlite')('a server waits until another has migrated the database', async () => {
    const url = await emptyDatabase(dialect)
    const [first, second] = [openTestDatabase(url), openTestDatabase(url)]
    await second.writer.raw('PRAGMA busy_timeout = 20')
    const waiting = await first.writer.transaction(async (tx) => {
      const migrating = migrate(second)
      // Take longer than the busy timeout of the waiting server.
      await tx.raw(
        'with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000) select count(*) from n',
      )
      return { migrating }
    })
    expect(await waiting.migrating).toEqual(all)
  })

  test('stops waiting for another server that migrates when the signal aborts', async () => {
    const url = await emptyDatabase(dialect)
    const first = openTestDatabase(url)
    const second = openTestDatabase(dialect === 'sqlite' ? url : `${url}?lock_timeout=20`)
    if (dialect === 'sqlite') await second.writer.raw('PRAGMA busy_timeout = 20')
    await first.writer.transaction(async (tx) => {
      if (dialect === 'postgres') await tx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
      await expect(migrate(second, { signal: AbortSignal.timeout(100) })).rejects.toThrow('aborted due to timeout')
    })
    expect(await migrate(second)).toEqual(all)
  })

  test('a migration that fails leaves nothing behind and works once its cause is gone', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await database.writer.schema.createTable('events', (table) => table.text('in_the_way'))
    await expect(migrate(database)).rejects.toThrow(/already exists/)
    expect(await existing(database)).toEqual(['events'])
    await database.writer.schema.dropTable('events')
    expect(await migrate(database)).toEqual(all)
  })

  test('a second migration upgrades a database with data and keeps every row', async () => {
    const database = openTestDatabase(await migratedDatabase(dialect))
    const store = createStore(database)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)
    const passes = Array.from({ length: 3 }, () => newPass(version))
    await insertPasses(store, workspaceId, passes)
    const before = await database.writer('passes').orderBy('id')

    const second: Migrations = {
      '0001-baseline': baseline,
      '0002-nickname': {
        async up(db) {
          await db.schema.alterTable('passes', (table) => table.text('nickname').notNullable().defaultTo('none'))
        },
      },
    }
    expect(await migrate(database, { known: second })).toEqual(['0002-nickname'])
    expect(await migrate(database, { known: second })).toEqual([])
    expect(await unknownMigrations(database.writer)).toEqual(['0002-nickname'])
    const after = await database.writer('passes').orderBy('id')
    expect(after).toEqual(before.map((row) => ({ ...row, nickname: 'none' })))
  })

  test('rejects a database of a development build, and names the command that exports its data', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await database.writer.raw('create table migrations (name text primary key)')
    await database.writer('migrations').insert({ name: '0001-start' })
    const rejection = { name: 'SetupError', fix: expect.stringContaining('passes export --handover') }
    await expect(migrate(database)).rejects.toMatchObject(rejection)
    await expect(pendingMigrations(database)).rejects.toMatchObject(rejection)
    expect(await existing(database)).toEqual([])
  })

  test('a migration that is killed leaves nothing behind', async () => {
    const url = await emptyDatabase(dialect)
    const script = join(import.meta.dirname, 'migrate-until-killed.ts')
    const killed = await execa('node', ['--import', 'tsx', script, url, 'pass_identifiers'], { reject: false })
    expect(killed.signal).toBe('SIGKILL')
    const database = openTestDatabase(url)
    expect(await existing(database)).toEqual([])
    expect(await migrate(database)).toEqual(all)
  })
})

async function existing({ writer }: Database): Promise<string[]> {
  const found = await Promise.all(tables.map((table) => writer.schema.hasTable(table)))
  return tables.filter((_, index) => found[index])
}
