import { onTestFinished } from 'vitest'
import { type ComposeService, servicesOf } from '../../support/compose.ts'
import { type CleanUp, emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { freePort } from '../../support/ports.ts'
import { run } from './program.ts'
import { type ServerProcess, startServer } from './server.ts'

/** One process of the fleet, which may end and be started again as it was. */
export interface Member {
  /** As compose.yaml calls it. */
  name: string
  role: 'api' | 'worker'
  /** Stays the same; empty for one that only works. */
  url: string
  /** The process as it runs now. */
  server(): ServerProcess
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | undefined>
  kill(): Promise<void>
  start(): Promise<void>
}

export interface Fleet {
  database: string
  /** An owner's, on every server. */
  token: string
  apis: Member[]
  workers: Member[]
}

export interface FleetOptions {
  /** All of them by default. */
  roles?: Member['role'][]
  env?: Record<string, string>
  args?: string[]
  cleanUp?: CleanUp
}

/**
 * The topology of compose.yaml as processes on one PostgreSQL: its roles, flags and variables, but for what a machine
 * without Docker has otherwise (addresses, and the sandbox instead of credentials).
 */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const { roles = ['api', 'worker'], env = {}, args = [], cleanUp = onTestFinished } = options
  const database = await emptyDatabase('postgres', cleanUp)
  await run(['migrate', '--database', database])
  const made = await run(['token', 'create', '--name', 'fleet', '--role', 'owner', '--database', database, '--json'])
  const { token } = JSON.parse(String(made.stdout)) as { token: string }
  const sandbox = temporaryFolder(cleanUp)
  const publicUrl = 'http://passes.example'
  const here = { PASSES_PUBLIC_URL: publicUrl, PASSES_SANDBOX_DIR: sandbox, PASSES_LOG_LEVEL: 'error' }

  async function member(role: Member['role'], [name, service]: [string, ComposeService]): Promise<Member> {
    const port = role === 'api' ? String(await freePort()) : '0'
    let current: ServerProcess | undefined
    const server = () => {
      if (!current) throw new Error(`${name} does not run`)
      return current
    }
    const start = async () => {
      current = await startServer({
        database,
        token,
        port,
        cleanUp,
        args: [...flagsOf(service), ...args],
        env: { ...settingsOf(service), ...here, ...env },
      })
    }
    await start()
    return {
      name,
      role,
      server,
      start,
      url: server().url,
      stop: () => server().stop(),
      kill: () => server().kill(),
    }
  }

  const all = (role: Member['role']) =>
    Promise.all(roles.includes(role) ? servicesOf(role).map((service) => member(role, service)) : [])
  const [apis, workers] = await Promise.all([all('api'), all('worker')])
  return { database, token, apis, workers }
}

/** The flags behind `serve`, on loopback. */
function flagsOf({ command = [] }: ComposeService): string[] {
  return command.slice(1).map((flag) => (flag === '0.0.0.0' ? '127.0.0.1' : flag))
}

/** Settings that compose.yaml gives outright; what it asks an operator for is given here or sandboxed. */
function settingsOf({ environment = {} }: ComposeService): Record<string, string> {
  const elsewhere = /^PASSES_(PRODUCTION|APPLE_|GOOGLE_)/
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => !value.includes('${') && !elsewhere.test(name)),
  )
}
