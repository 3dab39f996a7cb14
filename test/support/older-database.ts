import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { tablesOf } from '../../src/storage/copy/tables.ts'
import { openDatabase } from '../../src/storage/db/database.ts'
import { emptyDatabase, type TestDialect } from './databases.ts'

const folder = join(import.meta.dirname, '../../src/storage/migrations')

/** What passes and the wallets that hold them are, in an order in which each row finds what it refers to. */
const tables = [
  'workspaces',
  'tokens',
  'projects',
  'templates',
  'template_versions',
  'passes',
  'pass_identifiers',
  'apple_registrations',
  'google_classes',
  'google_objects',
]

/**
 * A database as the program left it before a migration, with passes of another one of today: what columns hold that are newer is
 * left out.
 */
export async function databaseBefore(migration: string, of: string, dialect: TestDialect): Promise<string> {
  const url = await emptyDatabase(dialect)
  const [today, before] = [openDatabase(of), openDatabase(url)]
  try {
    await before.writer.transaction(async (tx) => {
      await migrateUpTo(migration, tx)
      const known = new Map((await tablesOf(tx)).map((table) => [table.name, table]))
      for (const name of tables) {
        // The order of changes is given out by each database.
        const columns = known.get(name)!.columns.filter(({ kind }) => kind !== 'position')
        const rows = await today.reader(name).select(columns.map((column) => column.name))
        if (rows.length > 0) await tx(name).insert(rows)
      }
    })
  } finally {
    await Promise.all([today.close(), before.close()])
  }
  return url
}

async function migrateUpTo(migration: string, tx: Knex): Promise<void> {
  await tx.raw('create table migrations (name text primary key)')
  for (const file of readdirSync(folder).sort()) {
    if (file >= migration) return
    const { up } = (await import(join(folder, file))) as { up(db: Knex): Promise<void> }
    await up(tx)
    await tx('migrations').insert({ name: file.replace(/\.ts$/, '') })
  }
}
