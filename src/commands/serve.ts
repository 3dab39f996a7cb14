import { BaseCommand } from '../cli/command/base-command.ts'
import { details, localTimeOr } from '../cli/command/output.ts'
import { mistypedVariables, parsePlatforms, serveFlags, serverConfig } from '../cli/settings/server-flags.ts'
import { replacePrivateSync } from '../files/private-file.ts'
import type { RunningServer } from '../server/boot/serve.ts'

/**
 * The time, in seconds, to finish work in flight after the server stops accepting requests: enough for the slowest
 * webhook. With the default `--drain-seconds`, a stop takes at most 20 s.
 */
const FINISH_SECONDS = 17

/** The maximum time, in milliseconds, to return unfinished jobs to the queue before the process exits. */
const ABANDON_MS = 1_000

export default class Serve extends BaseCommand {
  static override summary = 'Run the server: the API, hosted pages, and background work.'
  static override description =
    'Migrates the database, and then starts the server. In an empty database, the server creates the workspace ' +
    '"default" and an owner token. In a terminal, this token is shown once. Without a terminal, it is written to a ' +
    'private file next to the SQLite file, such as passes.db.token; with PostgreSQL, run "passes token create". A ' +
    'platform without credentials runs in the sandbox. On SIGTERM and Ctrl-C, the server finishes requests in ' +
    'flight. On SIGTERM, /readyz fails first, so that proxies stop sending requests (--drain-seconds).'
  static override examples = [
    '<%= config.bin %> serve',
    '<%= config.bin %> serve --port 8080 --database sqlite:./data/passes.db --public-url https://passes.example.com',
    'PASSES_DATABASE_URL=postgres://passes:secret@db/passes <%= config.bin %> serve --host 0.0.0.0 --production',
  ]
  static override flags = serveFlags

  async run() {
    const { flags } = await this.parse(Serve)
    for (const warning of mistypedVariables()) this.note(warning)
    const { requireOpenFiles } = await import('../server/boot/open-files.ts')
    requireOpenFiles()
    const { letHeapGrow } = await import('../server/boot/heap.ts')
    const { startServer } = await import('../server/boot/serve.ts')
    const { withoutPassword } = await import('../server/boot/database-error.ts')
    const { firstTokenFile, sandboxFolder } = await import('../server/config.ts')
    const { createLogger } = await import('../server/log.ts')
    letHeapGrow()
    const log = createLogger(flags['log-level'])
    const stop = new AbortController()
    const stopped = untilStopped()
    void stopped.then(() => stop.abort())
    const config = serverConfig(flags)
    const isInteractive = process.stderr.isTTY === true
    const isTokenShown = this.jsonEnabled() || isInteractive
    const tokenFile = isTokenShown ? undefined : firstTokenFile(config)
    const server = await startServer({
      log,
      version: this.config.version,
      config,
      makesFirstToken: isTokenShown || tokenFile !== undefined,
      async onFirstToken(token) {
        if (tokenFile === undefined) return
        replacePrivateSync(tokenFile, `${token}\n`)
        log.warn({ file: tokenFile }, 'the first owner token is in this file: log in with it, then delete the file')
      },
      stop: stop.signal,
    }).catch((error: unknown) => {
      if (error !== stop.signal.reason) throw error
    })
    if (!server) {
      log.info('stopped during the start')
      return
    }
    const { token, ...facts } = {
      ...describe(server),
      sandboxFolder: server.sandboxed.length > 0 ? sandboxFolder(config) : null,
      database: withoutPassword(flags.database),
      role: flags.role,
    }
    if (this.jsonEnabled()) this.logJson({ token, ...facts })
    else if (isInteractive) this.note(banner({ token, ...facts }, parsePlatforms(flags.platforms), server.lacksToken))
    else {
      // Do not log the token: people who have no access to the server can often read its logs.
      log.info(facts, 'passes is running')
      if (server.lacksToken) log.warn(`no token was used yet: ${CREATE_TOKEN}`)
    }
    const signal = await stopped
    // Drain only on SIGTERM. On Ctrl-C, there is no proxy that must stop sending requests first.
    const drainSeconds = signal === 'SIGTERM' ? flags['drain-seconds'] : 0
    log.info(
      { drainSeconds },
      'stopping: starts no new jobs, accepts requests until the drain ends, and finishes work in flight',
    )
    const late = setTimeout(
      () => {
        log.error('not all work finished in time: work in flight returns to the queue and runs again')
        setTimeout(() => process.exit(1), ABANDON_MS).unref()
        server.abandon().finally(() => process.exit(1))
      },
      (drainSeconds + FINISH_SECONDS) * 1000,
    )
    await server.close({ drainSeconds })
    clearTimeout(late)
  }
}

function describe({ url, publicUrl, metricsUrl, sandboxed, firstToken, firstTokenEnds }: RunningServer) {
  const token = { token: firstToken ?? null, tokenExpiresAt: firstTokenEnds?.toISOString() ?? null }
  return { url, publicUrl, metricsUrl: metricsUrl ?? null, sandboxed, ...token }
}

type Started = ReturnType<typeof describe> & { sandboxFolder: string | null; database: string; role: string }

function banner(
  { url, publicUrl, metricsUrl, database, role, sandboxed, sandboxFolder, token, tokenExpiresAt }: Started,
  platforms: string[],
  lacksToken: boolean,
): string {
  const facts = details([
    ['Address', url || null],
    ['Public URL', publicUrl && publicUrl !== url ? publicUrl : null],
    ['API reference', url ? `${url}/docs` : null],
    ['Metrics', metricsUrl],
    ['Database', database],
    ['Role', role],
    ...platforms.map(
      (name) => [title(name), sandboxed.some((platform) => platform === name) ? SANDBOX : 'real'] as const,
    ),
    ['Sandbox files', sandboxFolder],
  ])
  const noToken = lacksToken ? `\n\nNo token? ${CREATE_TOKEN}` : ''
  const first = token
    ? `\n\nOwner token of the workspace "default", shown only now (expires: ${localTimeOr(tokenExpiresAt, 'never')}):\n\n  ${token}\n\nNext:\n\n  passes login --url ${url} --token ${token}`
    : noToken
  return `passes is running\n\n${facts}${first}\n`
}

const CREATE_TOKEN = 'passes token create --name owner --role owner'

const SANDBOX = 'SANDBOX: development credentials, no real phone accepts these passes'

function title(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`
}

/**
 * Resolves with the first SIGINT or SIGTERM. A repeated signal ends the process immediately. Call it before the server
 * starts: otherwise, a signal during the start would end the process without a graceful stop.
 */
function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
  })
}
