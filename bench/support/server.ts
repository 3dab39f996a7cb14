import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { execa } from 'execa'
import { type Client, createClient } from '../../src/client/client.ts'
import { createToken } from '../../src/server/create-token.ts'
import { type Database, openDatabase } from '../../src/storage/db/database.ts'
import { migrate } from '../../src/storage/db/migrate.ts'
import { createStore } from '../../src/storage/store.ts'

const program = new URL('../../bin/run.js', import.meta.url).pathname

/** The folder to which each server writes a CPU profile. */
const profiles = process.env.PASSES_BENCH_PROFILES

export interface BenchServer {
  url: string
  token: string
  client: Client
  /** Returns the CPU time that the process has used, in milliseconds. NaN if the system has no /proc. */
  cpuMilliseconds(): number
  stop(): Promise<void>
}

/** Fills a database with many rows of a workspace. */
export type Seed = (database: Database, workspaceId: string) => Promise<void>

/**
 * Starts the built program as a separate process on an empty database, without a rate limit. `seed` fills the database
 * before the start: it writes fifty thousand rows in one transaction, and the server would not wait that long for the
 * SQLite writer.
 */
export async function startServer(database: string, args: string[] = [], seed?: Seed): Promise<BenchServer> {
  const seededToken = seed && (await fill(database, seed))
  const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
  const profile = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const child = execa('node', [...profile, program, 'serve', '--json', ...args], {
    cwd: folder,
    env: {
      PASSES_PORT: '0',
      PASSES_RATE_LIMIT: '0',
      PASSES_LOG_LEVEL: 'error',
      PASSES_DATABASE_URL: database,
      PASSES_DRAIN_SECONDS: '0',
      ...(database.startsWith('postgres') && { PASSES_SERVER_KEY: 'ab'.repeat(32) }),
    },
    stderr: 'inherit',
    buffer: false,
    reject: false,
  })
  const started: { url?: string; token?: string | null } = await firstJson(child.stdout)
  const { url } = started
  if (url === undefined) throw new Error(`The server did not start: ${JSON.stringify(started)}`)
  const token = seededToken ?? started.token!
  const client = createClient({ url, token, attempts: 1 })
  return {
    url,
    token,
    client,
    cpuMilliseconds: () => cpuMillisecondsOf(child.pid!),
    async stop() {
      await client.close()
      child.kill('SIGTERM')
      await child
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the JSON value that a program prints when it is running. Later output can still be read from the stream. */
export async function firstJson<T>(stdout: Readable): Promise<T> {
  let text = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.endsWith('}\n')) break
  }
  return JSON.parse(text)
}

/** Returns the CPU time of a process, user and system, with a resolution of 10 ms. NaN if the system has no /proc. */
export function cpuMillisecondsOf(pid: number): number {
  try {
    const [, numbers] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [user, system] = numbers!.split(' ').slice(11, 13).map(Number)
    return (user! + system!) * 10
  } catch {
    return Number.NaN
  }
}

/** Returns the CPU time that all programs on the machine have used, in milliseconds. NaN if the system has no /proc. */
export function cpuMillisecondsOfAll(): number {
  try {
    const [, user, nice, system, , , interrupts, soft] = readFileSync('/proc/stat', 'utf8').split(/ +/, 8).map(Number)
    return (user! + nice! + system! + interrupts! + soft!) * 10
  } catch {
    return Number.NaN
  }
}

/** Fills a database. Returns the token of an owner. */
async function fill(url: string, seed: Seed): Promise<string> {
  const database = openDatabase(url)
  await migrate(database)
  const { workspaceId, token } = await createStore(database).transaction(async (tx) => {
    const workspace = await tx.workspaces.insert('bench', new Date())
    const { text } = await createToken(tx, workspace!.id, { name: 'bench', role: 'owner' }, new Date())
    return { workspaceId: workspace!.id, token: text }
  })
  await seed(database, workspaceId)
  await database.close()
  return token
}
