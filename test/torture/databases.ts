import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { type CleanUp, type TestDialect, temporaryFolder } from '../support/databases.ts'
import { freePort } from '../support/ports.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

export interface Databases {
  create(dialect: TestDialect, cleanUp: CleanUp): Promise<string>
  /**
   * The PostgreSQL server, which scenes can restart. `undefined` if PASSES_TEST_POSTGRES_URL names an external server.
   */
  postgres: TestPostgres | undefined
  stop(): Promise<void>
}

/** Creates the empty databases of scenes. PostgreSQL runs with its default settings, which include fsync. */
export async function openDatabases(dialects: readonly TestDialect[]): Promise<Databases> {
  const given = process.env.PASSES_TEST_POSTGRES_URL?.replace(/\/?$/, '/')
  const postgres = dialects.includes('postgres') && !given ? await startPostgres({ port: await freePort() }) : undefined
  const base = given ?? postgres?.url ?? ''
  return {
    postgres,
    async create(dialect, cleanUp) {
      if (dialect === 'sqlite') return `sqlite:${join(temporaryFolder(cleanUp), 'passes.db')}`
      const name = `torture_${randomUUID().replaceAll('-', '')}`
      await query(base, `create database ${name}`)
      cleanUp(() => query(base, `drop database ${name} with (force)`))
      return `${base}${name}`
    },
    stop: async () => postgres?.stop(),
  }
}

async function query(base: string, sql: string): Promise<void> {
  const client = new pg.Client(`${base}postgres`)
  // Ignore the event, because the query fails with the same error if a connection ends.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
