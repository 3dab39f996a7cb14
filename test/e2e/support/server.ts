import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Parser } from '@oclif/core'
import { execa } from 'execa'
import { inject, onTestFinished } from 'vitest'
import { type Client, createClient } from '../../../src/client/client.ts'
import { createToken } from '../../../src/server/create-token.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { createStore } from '../../../src/storage/store.ts'
import {
  type CleanUp,
  cleanUpAfterAll,
  migratedDatabase,
  type TestDialect,
  temporaryFolder,
} from '../../support/databases.ts'
import { freePort } from '../../support/ports.ts'
import { program, withEnvironment } from './program.ts'

/** The secret of servers on PostgreSQL, which have no file next to which they could store one. */
const SERVER_KEY = 'e2e-'.repeat(11)

export interface ServerOptions {
  dialect?: TestDialect
  /** An existing database of another server. It needs `token`. */
  database?: string
  token?: string
  /** Default: a free port. */
  port?: string
  args?: string[]
  env?: Record<string, string>
  /**
   * Whether the server creates its own sandbox credentials at the start, instead of using a copy of the shared ones.
   */
  makesSandbox?: boolean
  /** Set it if several tests use the server. */
  cleanUp?: CleanUp
}

export interface TestServer {
  url: string
  /** `null` if the server serves no metrics. */
  metricsUrl: string | null
  token: string
  database: string
  client: Client
  /** Returns its log output. */
  stderr(): string
}

/** A server in this process. */
export interface HostedServer extends TestServer {
  /** Stops the server like SIGTERM does, including the drain period of its flags. */
  stop(): Promise<void>
}

/** A server in a separate process. */
export interface ServerProcess extends TestServer {
  pid: number
  /** Sends SIGTERM and waits for the end. Resolves to the exit code. */
  stop(): Promise<number | undefined>
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>
  /** Sends SIGSTOP or SIGCONT, which pause and continue the process. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
}

/** Returns the default settings of `serve`, with those of the test. */
function settingsFor(database: string, options: ServerOptions): Record<string, string> {
  return {
    PASSES_DATABASE_URL: database,
    PASSES_RATE_LIMIT: '0',
    PASSES_LOG_LEVEL: 'warn',
    PASSES_DRAIN_SECONDS: '0',
    ...(database.startsWith('postgres') && { PASSES_SERVER_KEY: SERVER_KEY }),
    ...options.env,
  }
}

/** Starts `passes serve` as a separate process on a free port, without a rate limit, for tests that stop or kill it. */
export async function startServer(options: ServerOptions = {}): Promise<ServerProcess> {
  const { cleanUp = onTestFinished } = options
  const database = options.database ?? (await migratedDatabase(options.dialect ?? 'sqlite', cleanUp))
  const folder = temporaryFolder(cleanUp)
  if (!options.makesSandbox) copySandbox(database, folder)
  const child = execa(
    'node',
    [
      ...optimizesLate,
      program,
      'serve',
      '--port',
      options.port ?? String(await freePort()),
      '--json',
      ...(options.args ?? []),
    ],
    {
      cwd: folder,
      env: settingsFor(database, options),
      reject: false,
      buffer: false,
      // Do not kill a server that does not stop, so that the test fails.
      forceKillAfterDelay: false,
    },
  )
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  cleanUp(async () => {
    child.kill('SIGKILL')
    await child
  })
  const started = await firstJson(child.stdout, () => stderr)
  return {
    pid: child.pid!,
    ...describe(started, database, options),
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

/**
 * Starts the same as `passes serve` in this process, with the same flags and environment, for a tenth of the CPU of a
 * separate process. Uses a free port and no rate limit.
 */
export async function hostServer(options: ServerOptions = {}): Promise<HostedServer> {
  const { cleanUp = onTestFinished } = options
  const database = options.database ?? (await migratedDatabase(options.dialect ?? 'sqlite', cleanUp))
  const folder = temporaryFolder(cleanUp)
  if (!options.makesSandbox) copySandbox(database, folder)
  const { serveFlags, serverConfig, createLogger, startServer } = await built()
  const env = { PASSES_SANDBOX_DIR: sandboxOf(database, folder), ...settingsFor(database, options) }
  let stderr = ''
  const { server, drainSeconds } = await withEnvironment(env, async () => {
    const argv = ['--port', options.port ?? String(await freePort()), ...(options.args ?? [])]
    const { flags } = await Parser.parse(argv, { flags: serveFlags })
    const write = (line: string) => {
      stderr += line
    }
    const log = createLogger(flags['log-level'], { write })
    const server = await startServer({ config: serverConfig(flags), log, version })
    return { server, drainSeconds: flags['drain-seconds'] }
  })
  let closed: Promise<void> | undefined
  const stop = () => (closed ??= server.close({ drainSeconds }))
  // After a test, no proxy sends requests, so do not wait for the drain period.
  cleanUp(() => (closed ??= server.close({ drainSeconds: 0 })))
  const started = { url: server.url, metricsUrl: server.metricsUrl ?? null, token: server.firstToken ?? null }
  return { ...describe(started, database, options), stderr: () => stderr, stop }
}

/**
 * The flag from vitest.config.ts that delays optimizations, which do not pay off in a process that runs only for
 * moments. Servers of tests get the flag, too.
 */
const optimizesLate = process.execArgv.filter((flag) => flag.startsWith('--interrupt-budget='))

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** Loads the parts of the built program that `passes serve` uses. */
async function built() {
  const load = (path: string) => import(new URL(`../../../dist/${path}`, import.meta.url).href)
  const flags: typeof import('../../../src/cli/settings/server-flags.ts') = await load('cli/settings/server-flags.js')
  const config: typeof import('../../../src/cli/settings/server-flags.ts') = await load('cli/settings/server-flags.js')
  const log: typeof import('../../../src/server/log.ts') = await load('server/log.js')
  const serve: typeof import('../../../src/server/boot/serve.ts') = await load('server/boot/serve.js')
  return { ...flags, ...config, ...log, ...serve }
}

/**
 * Shares one server among the tests of a file that leave it running, each in its own workspace. The first test starts
 * it.
 */
export function sharedServer(options: ServerOptions = {}): () => Promise<TestServer> {
  const cleanUp = cleanUpAfterAll()
  let starting: Promise<TestServer> | undefined
  return async () => {
    starting ??= hostServer({ ...options, cleanUp })
    const server = await starting
    const [own] = inWorkspace([server], await createWorkspace(server.database))
    return own!
  }
}

/**
 * Shares several servers on one database among tests, as sharedServer() does. All of them use the workspace of the
 * test. All except the first are separate processes, so that no state in a process can coordinate requests.
 */
export function sharedServers(count: number, options: ServerOptions = {}): () => Promise<TestServer[]> {
  const cleanUp = cleanUpAfterAll()
  const startAll = async () => {
    const first = await hostServer({ ...options, cleanUp })
    const { database, token } = first
    const others = Array.from({ length: count - 1 }, () => startServer({ ...options, database, token, cleanUp }))
    return [first, ...(await Promise.all(others))]
  }
  let starting: Promise<TestServer[]> | undefined
  return async () => {
    starting ??= startAll()
    const servers = await starting
    return inWorkspace(servers, await createWorkspace(servers[0]!.database))
  }
}

/** Returns the servers with the token of the test's workspace. */
function inWorkspace(servers: TestServer[], token: string): TestServer[] {
  return servers.map((server) => {
    const client = createClient({ url: server.url, token, attempts: 1 })
    onTestFinished(() => client.close())
    return { ...server, token, client }
  })
}

/** Creates a workspace. Resolves to the token of its owner. */
export async function createWorkspace(url: string): Promise<string> {
  const database = openDatabase(url)
  const { text } = await createStore(database).transaction(async (tx) => {
    const workspace = await tx.workspaces.insert(randomUUID(), new Date())
    return createToken(tx, workspace!.id, { name: 'owner', role: 'owner' }, new Date())
  })
  await database.close()
  return text
}

/**
 * Returns a folder of sandbox credentials for servers that share one. They are a copy of credentials that all tests share,
 * because new ones take long to create.
 */
export function sandboxFolder(cleanUp: CleanUp = onTestFinished): string {
  const folder = temporaryFolder(cleanUp)
  cpSync(inject('sandboxFolder'), folder, { recursive: true })
  return folder
}

/** Copies the sandbox credentials to the place where the server looks for them. */
function copySandbox(database: string, workingFolder: string): void {
  const folder = sandboxOf(database, workingFolder)
  if (!existsSync(folder)) cpSync(inject('sandboxFolder'), folder, { recursive: true })
}

function sandboxOf(database: string, workingFolder: string): string {
  const file = /^sqlite:(.+)$/.exec(database)?.[1]
  return file ? `${file}.sandbox` : join(workingFolder, 'passes.sandbox')
}

interface Started {
  url: string
  metricsUrl: string | null
  token: string | null
}

function describe(started: Started, database: string, options: ServerOptions): Omit<TestServer, 'stderr'> {
  const { url, metricsUrl } = started
  const { cleanUp = onTestFinished } = options
  const token = options.token ?? started.token
  if (!token) throw new Error('The database had a workspace already: give its token')
  const client = createClient({ url, token, attempts: 1 })
  cleanUp(() => client.close())
  return { url, metricsUrl, token, database, client }
}

async function firstJson(stdout: Readable, stderr: () => string) {
  let text = ''
  for await (const chunk of stdout) {
    text += chunk
    if (!text.endsWith('}\n')) continue
    const answer = JSON.parse(text) as Started | { error: { message: string } }
    if (!('error' in answer)) return answer
    throw new Error(`The server did not start: ${answer.error.message}`)
  }
  throw new Error(`The server did not start: ${stderr()}`)
}
