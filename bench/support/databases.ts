import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/storage/db/database.ts'
import { startPostgres } from '../../test/support/postgres.ts'

/** Creates an empty database and returns its address. */
export type CreateDatabase = (name: string) => Promise<string>

/** Runs the work on SQLite, and then on a PostgreSQL server that is started for it. Deletes both databases. */
export async function onEachDatabase(work: (kind: string, create: CreateDatabase) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
  await work('SQLite', async (name) => `sqlite:${join(folder, `${name}.db`)}`)
  rmSync(folder, { recursive: true })

  const postgres = await startPostgres()
  await work('PostgreSQL', async (name) => {
    const database = openDatabase(`${postgres.url}postgres`)
    await database.writer.raw('create database ??', [name])
    await database.close()
    return `${postgres.url}${name}`
  })
  await postgres.stop()
}
