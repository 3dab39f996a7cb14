import { BaseCommand } from '../cli/base-command.ts'
import { details } from '../cli/output.ts'
import { serverConfig } from '../cli/server-config.ts'
import { parsePlatforms, serveFlags } from '../cli/server-flags.ts'
import type { RunningServer } from '../server/serve.ts'

export default class Serve extends BaseCommand {
  static override summary = 'Run the server: the API, hosted pages and background work.'
  static override description =
    'Migrates the database and starts. On an empty database it makes the workspace "default" and an owner token, shown ' +
    'once. A platform without credentials runs in the sandbox. SIGTERM and Ctrl-C finish what is in flight.'
  static override examples = [
    '<%= config.bin %> serve',
    '<%= config.bin %> serve --port 8080 --database sqlite:./data/passes.db --public-url https://passes.example.com',
    'PASSES_DATABASE_URL=postgres://passes:secret@db/passes <%= config.bin %> serve --host 0.0.0.0 --production',
  ]
  static override flags = serveFlags

  async run() {
    const { flags } = await this.parse(Serve)
    const { startServer } = await import('../server/serve.ts')
    const { createLogger } = await import('../server/log.ts')
    const log = createLogger(flags['log-level'])
    const server = await startServer({
      log,
      version: this.config.version,
      config: serverConfig(flags),
    })
    const started = { ...describe(server), database: withoutPassword(flags.database), role: flags.role }
    if (this.jsonEnabled()) this.logJson(started)
    else this.note(banner(started, parsePlatforms(flags.platforms)))
    await untilStopped()
    log.info('stopping: no new requests or jobs, finishing what is in flight')
    await server.close()
  }
}

function describe({ url, publicUrl, metricsUrl, sandboxed, firstToken }: RunningServer) {
  return { url, publicUrl, metricsUrl: metricsUrl ?? null, sandboxed, token: firstToken ?? null }
}

type Started = ReturnType<typeof describe> & { database: string; role: string }

function banner(
  { url, publicUrl, metricsUrl, database, role, sandboxed, token }: Started,
  platforms: string[],
): string {
  const facts = details([
    ['Address', url || null],
    ['Public URL', publicUrl && publicUrl !== url ? publicUrl : null],
    ['Interface', url ? `${url}/openapi.json` : null],
    ['Metrics', metricsUrl],
    ['Database', database],
    ['Role', role],
    ...platforms.map(
      (name) => [title(name), sandboxed.some((platform) => platform === name) ? SANDBOX : 'real'] as const,
    ),
  ])
  const first = token
    ? `\n\nOwner token of the workspace "default", shown only now:\n\n  ${token}\n\nNext:\n\n  passes login --url ${url} --token ${token}`
    : ''
  return `passes is running\n\n${facts}${first}\n`
}

const SANDBOX = 'SANDBOX: development credentials, no real phone accepts these passes'

function title(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`
}

function withoutPassword(database: string): string {
  return database.replace(/:\/\/([^:@/]+):[^@]*@/, '://$1:…@')
}

function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
