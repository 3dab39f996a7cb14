import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/storage/database.ts'
import { migrate, pendingMigrations } from '../../src/storage/migrate.ts'
import { dialects, emptyDatabase } from '../support/databases.ts'
import { openTestDatabase } from './fixtures.ts'

/** Every file in the folder runs, in the order of their numbers. */
const all = readdirSync(join(import.meta.dirname, '../../src/storage/migrations'))
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

  test('of several servers that migrate at once one does the work and all go on', async () => {
    const url = await emptyDatabase(dialect)
    const servers = Array.from({ length: 4 }, () => openTestDatabase(url))
    const applied = await Promise.all(servers.map(migrate))
    expect(applied.filter((names) => names.length > 0)).toEqual([all])
    for (const server of servers) expect(await pendingMigrations(server)).toEqual([])
  })

  test('a migration that fails leaves nothing behind and works once its cause is gone', async () => {
    const database = openTestDatabase(await emptyDatabase(dialect))
    await database.writer.schema.createTable('events', (table) => table.text('in_the_way'))
    await expect(migrate(database)).rejects.toThrow(/already exists/)
    expect(await existing(database)).toEqual(['events'])
    await database.writer.schema.dropTable('events')
    expect(await migrate(database)).toEqual(all)
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
