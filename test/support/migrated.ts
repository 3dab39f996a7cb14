import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../src/storage/db/database.ts'
import { migrate } from '../../src/storage/db/migrate.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Databases with every table and no row, which tests copy. The second one exists only with a PostgreSQL server. */
    migrated: { sqliteFile: string; postgresName: string }
  }
}

/** Migrates a database of each kind once for the whole run. Runs after the setup that starts PostgreSQL. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { postgresUrl } = project.getProvidedContext()
  const folder = mkdtempSync(join(tmpdir(), 'passes-migrated-'))
  const sqliteFile = join(folder, 'passes.db')
  const postgresName = `passes_migrated_${randomUUID().replaceAll('-', '')}`
  project.provide('migrated', { sqliteFile, postgresName })
  await migrateOnce(`sqlite:${sqliteFile}`)
  if (postgresUrl) {
    await onServer(postgresUrl, `create database ${postgresName}`)
    await migrateOnce(`${postgresUrl}${postgresName}`)
  }
  return async () => {
    if (postgresUrl) await onServer(postgresUrl, `drop database ${postgresName} with (force)`)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Migrates a database, and closes its connections, because a database with connections cannot be copied. */
async function migrateOnce(url: string): Promise<void> {
  const database = openDatabase(url)
  await migrate(database)
  await database.close()
}

/** Runs SQL as the superuser, in the database `postgres` by default. */
export async function onServer(postgresUrl: string, sql: string, database = 'postgres'): Promise<void> {
  const client = new pg.Client(`${postgresUrl}${database}`)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
