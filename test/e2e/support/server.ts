import { randomUUID } from 'node:crypto'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { execa } from 'execa'
import { inject, onTestFinished } from 'vitest'
import { type Client, createClient } from '../../../src/client/client.ts'
import { createToken } from '../../../src/server/operator/tokens.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import {
  type CleanUp,
  cleanUpAfterAll,
  emptyDatabase,
  type TestDialect,
  temporaryFolder,
} from '../../support/databases.ts'
import { program } from './program.ts'

/** A secret for servers on PostgreSQL, which have no file to keep one beside. */
const SERVER_KEY = 'e2e-'.repeat(11)

export interface ServerOptions {
  dialect?: TestDialect
  /** A database that another server made; its first token must then be given. */
  database?: string
  token?: string
  /** A free one by default. */
  port?: string
  args?: string[]
  env?: Record<string, string>
  /** Sandbox credentials of its own, made when it starts, where others get a copy of those that all tests share. */
  makesSandbox?: boolean
  /** For a server that several tests use. */
  cleanUp?: CleanUp
}

export interface TestServer {
  pid: number
  url: string
  /** Null where it serves none. */
  metricsUrl: string | null
  token: string
  database: string
  client: Client
  /** SIGTERM, and waits for the end; resolves to the exit code. */
  stop(): Promise<number | undefined>
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>
  /** As from outside: SIGSTOP and SIGCONT hold the process and let it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  stderr(): string
}

/** Starts `passes serve` as a process of its own on a free port, without a rate limit. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const { cleanUp = onTestFinished } = options
  const database = options.database ?? (await emptyDatabase(options.dialect ?? 'sqlite', cleanUp))
  const folder = temporaryFolder(cleanUp)
  if (!options.makesSandbox) copySandbox(database, folder)
  const child = execa('node', [program, 'serve', '--port', options.port ?? '0', '--json', ...(options.args ?? [])], {
    cwd: folder,
    env: {
      PASSES_DATABASE_URL: database,
      PASSES_RATE_LIMIT: '0',
      PASSES_LOG_LEVEL: 'warn',
      PASSES_DRAIN_SECONDS: '0',
      ...(database.startsWith('postgres') && { PASSES_SERVER_KEY: SERVER_KEY }),
      ...options.env,
    },
    reject: false,
    buffer: false,
    // A server that does not stop by itself must be seen to hang.
    forceKillAfterDelay: false,
  })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  cleanUp(async () => {
    child.kill('SIGKILL')
    await child
  })
  const started = await firstJson(child.stdout, () => stderr)
  const token = options.token ?? started.token
  if (!token) throw new Error('The database had a workspace already: give its token')
  const client = createClient({ url: started.url, token, attempts: 1 })
  cleanUp(() => client.close())
  return {
    pid: child.pid!,
    url: started.url,
    metricsUrl: started.metricsUrl,
    token,
    database,
    client,
    stderr: () => stderr,
    async stop() {
      child.kill('SIGTERM')
      return (await child).exitCode
    },
    async kill() {
      child.kill('SIGKILL')
      await child
    },
    signal: (name) => void child.kill(name),
  }
}

/** One server for tests of a file that leave it running, each in a workspace of its own; started with the first of them. */
export function sharedServer(options: ServerOptions = {}): () => Promise<TestServer> {
  const shared = sharedServers(1, options)
  return async () => (await shared())[0]!
}

/** Several on one database, for tests as of sharedServer(): all see the one workspace of the test. */
export function sharedServers(count: number, options: ServerOptions = {}): () => Promise<TestServer[]> {
  const cleanUp = cleanUpAfterAll()
  const startAll = async () => {
    const first = await startServer({ ...options, cleanUp })
    const { database, token } = first
    const others = Array.from({ length: count - 1 }, () => startServer({ ...options, database, token, cleanUp }))
    return [first, ...(await Promise.all(others))]
  }
  let starting: Promise<TestServer[]> | undefined
  return async () => {
    starting ??= startAll()
    const servers = await starting
    const token = await createWorkspace(servers[0]!.database)
    return servers.map((server) => {
      const client = createClient({ url: server.url, token, attempts: 1 })
      onTestFinished(() => client.close())
      return { ...server, token, client }
    })
  }
}

/** A workspace of its own; resolves to the token of its owner. */
export async function createWorkspace(url: string): Promise<string> {
  const database = openDatabase(url)
  const { text } = await createStore(database).transaction(async (tx) => {
    const workspace = await tx.workspaces.insert(randomUUID(), new Date())
    return createToken(tx, workspace!.id, { name: 'owner', role: 'owner' }, new Date())
  })
  await database.close()
  return text
}

/** To where the server looks for it. */
function copySandbox(database: string, workingFolder: string): void {
  const file = /^sqlite:(.+)$/.exec(database)?.[1]
  const folder = file ? `${file}.sandbox` : join(workingFolder, 'passes.sandbox')
  if (!existsSync(folder)) cpSync(inject('sandboxFolder'), folder, { recursive: true })
}

async function firstJson(stdout: Readable, stderr: () => string) {
  let text = ''
  for await (const chunk of stdout) {
    text += chunk
    if (text.endsWith('}\n'))
      return JSON.parse(text) as { url: string; metricsUrl: string | null; token: string | null }
  }
  throw new Error(`The server did not start: ${stderr()}`)
}
