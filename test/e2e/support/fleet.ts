import { onTestFinished } from 'vitest'
import { type ComposeService, servicesOf } from '../../support/compose.ts'
import { type CleanUp, migratedDatabase } from '../../support/databases.ts'
import { freePort } from '../../support/ports.ts'
import { run } from './program.ts'
import {
  type HostedServer,
  hostServer,
  type ServerOptions,
  type ServerProcess,
  sandboxFolder,
  startServer,
  type TestServer,
} from './server.ts'

/** One server of the fleet. After its end, it can be started again with the same settings. */
export interface Member<S extends TestServer> {
  /** The name of the service in compose.yaml. */
  name: string
  /** The address, which stays the same after a restart. Empty for a server that only works. */
  url: string
  /** Returns the server that was started last. One that `host` started is not returned. */
  server(): S
  start(): Promise<void>
  /** Starts the server in this process, which costs much less. Use it for a server that is not killed again. */
  host(): Promise<void>
}

export interface Fleet<S extends TestServer> {
  database: string
  /** An owner's token, which all servers accept. */
  token: string
  /** The sandbox folder of all servers. */
  sandbox: string
  apis: Member<S>[]
  workers: Member<S>[]
}

export interface FleetOptions {
  /** The roles to start. Default: all. */
  roles?: ('api' | 'worker')[]
  /** The services of compose.yaml to start. Default: all services with those roles. */
  names?: string[]
  /** A fleet whose database, token, and sandbox this fleet shares. */
  beside?: Pick<Fleet<TestServer>, 'database' | 'token' | 'sandbox'>
  env?: Record<string, string>
  args?: string[]
  cleanUp?: CleanUp
}

/**
 * Starts the topology of compose.yaml as processes on one PostgreSQL, with its roles, flags, and variables, except
 * those that differ without Docker (addresses, and the sandbox instead of credentials).
 */
export function startFleet(options: FleetOptions = {}): Promise<Fleet<ServerProcess>> {
  return startMembers(startServer, options)
}

/** Starts a fleet in this process. Its servers can be stopped but not killed. */
export function hostFleet(options: FleetOptions = {}): Promise<Fleet<HostedServer>> {
  return startMembers(hostServer, options)
}

async function startMembers<S extends TestServer>(
  startOne: (options: ServerOptions) => Promise<S>,
  { roles = ['api', 'worker'], names, beside, env = {}, args = [], cleanUp = onTestFinished }: FleetOptions,
): Promise<Fleet<S>> {
  const { database, token, sandbox } = beside ?? (await makeShared(cleanUp))
  const publicUrl = 'http://passes.example'
  const here = { PASSES_PUBLIC_URL: publicUrl, PASSES_SANDBOX_DIR: sandbox, PASSES_LOG_LEVEL: 'error' }

  async function member(role: 'api' | 'worker', [name, service]: [string, ComposeService]): Promise<Member<S>> {
    const port = role === 'api' ? String(await freePort()) : '0'
    const options = {
      database,
      token,
      port,
      cleanUp,
      args: flagsOf(service, args),
      env: { ...settingsOf(service), ...here, ...env },
    }
    let current = await startOne(options)
    return {
      name,
      url: current.url,
      server: () => current,
      async start() {
        current = await startOne(options)
      },
      async host() {
        await hostServer(options)
      },
    }
  }

  const isWanted = ([name]: [string, ComposeService]) => names?.includes(name) ?? true
  const all = (role: 'api' | 'worker') =>
    Promise.all(
      roles.includes(role)
        ? servicesOf(role)
            .filter(isWanted)
            .map((service) => member(role, service))
        : [],
    )
  const [apis, workers] = await Promise.all([all('api'), all('worker')])
  return { database, token, sandbox, apis, workers }
}

/** Creates the resources that all servers of a fleet share. */
async function makeShared(cleanUp: CleanUp): Promise<Required<FleetOptions>['beside']> {
  const database = await migratedDatabase('postgres', cleanUp)
  const made = await run(['token', 'create', '--name', 'fleet', '--role', 'owner', '--database', database, '--json'])
  const { token } = JSON.parse(String(made.stdout)) as { token: string }
  return { database, token, sandbox: sandboxFolder(cleanUp) }
}

/**
 * Returns the flags that compose.yaml passes to `serve`, but on loopback. Flags of the test replace those with the same name.
 */
function flagsOf({ command = [] }: ComposeService, own: string[]): string[] {
  const flags = command.slice(1).map((flag) => (flag === '0.0.0.0' ? '127.0.0.1' : flag))
  const isReplaced = (flag = '') => flag.startsWith('--') && own.includes(flag)
  return [...flags.filter((flag, at) => !isReplaced(flag) && !isReplaced(flags[at - 1])), ...own]
}

/**
 * Returns the settings that have a value in compose.yaml. Those that an operator has to set come from the test or the sandbox.
 */
function settingsOf({ environment = {} }: ComposeService): Record<string, string> {
  const elsewhere = /^PASSES_(PRODUCTION|APPLE_|GOOGLE_)/
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => !value.includes('${') && !elsewhere.test(name)),
  )
}
