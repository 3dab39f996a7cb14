import { Flags, type Interfaces } from '@oclif/core'
import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { UsageError } from '../command/cli-error.ts'
import { editDistance } from '../command/failure.ts'
import { oidcConfig, oidcFlags } from './oidc-flags.ts'
import { ownVariables, requireClearSwitches } from './settings.ts'

export const databaseFlags = {
  database: Flags.string({
    summary: 'Database: sqlite:FILE or postgres://user:password@host/name.',
    env: 'PASSES_DATABASE_URL',
    default: 'sqlite:./passes.db',
    helpGroup: 'DATABASE',
  }),
}

/** The flags of commands on one workspace of a database. */
export const workspaceFlags = {
  ...databaseFlags,
  workspace: Flags.string({ summary: 'Name or ID of the workspace.', default: 'default' }),
}

export const serveFlags = {
  ...databaseFlags,
  ...settings(undefined, {
    host: Flags.string({ summary: 'Address on which the server listens.', default: '127.0.0.1' }),
    port: Flags.integer({
      summary: 'Port on which the server listens; 0 selects a free one.',
      default: 3000,
      min: 0,
      max: 65_535,
    }),
    'public-url': Flags.url({
      summary: 'Address at which phones and browsers reach the server (default: the listening address).',
    }),
    badges: Flags.string({
      summary:
        "Folder with Apple's and Google's badges for hosted pages, by platform and language: apple/de.svg, " +
        'google/pt-BR.png … (default: buttons with text).',
    }),
    role: Flags.option({ options: ['all', 'api', 'worker'] as const })({
      summary: 'Work of this process: api serves requests, worker runs background jobs.',
      default: 'all' as const,
    }),
    'drain-seconds': Flags.integer({
      summary: 'Seconds after SIGTERM during which requests are still served, but /readyz returns 503; up to 60.',
      default: 2,
      min: 0,
      max: 60,
    }),
    production: Flags.boolean({
      summary: 'Refuse to start with a sandboxed platform, or without an https --public-url.',
    }),
    freeze: Flags.boolean({
      summary: 'Serve reads, reject writes with 503, and run no jobs, while the database is copied.',
    }),
  }),
  ...settings('WALLETS', {
    platforms: Flags.string({
      summary: 'Wallet platforms, separated by commas. A platform without credentials runs in the sandbox.',
      default: 'apple,google',
    }),
    'apple-certificate': Flags.string({
      summary: 'Pass Type ID certificate: a PEM or DER file, a .p12 file with its key, or the PEM itself.',
    }),
    'apple-key': Flags.string({ summary: 'Private key of the certificate: a PEM or DER file, or the PEM itself.' }),
    'apple-key-passphrase': Flags.string({ summary: 'Passphrase of the key or of the .p12 file.' }),
    'apple-wwdr': Flags.string({ summary: "Apple's intermediate certificate (WWDR G4)." }),
    'apple-pass-type': Flags.string({ summary: 'Pass type identifier that the certificate must have.' }),
    'apple-team': Flags.string({ summary: 'Team identifier that the certificate must have.' }),
    'apple-prefix': Flags.string({
      summary:
        'Additional path for requests of phones, such as /passes: the path of the webServiceURL in passes of another ' +
        'provider. Repeatable, or separated by commas.',
      ...repeatable,
      default: [],
    }),
    'push-rate': Flags.integer({
      summary:
        'Maximum rate of pushes to iPhones after bulk changes, in passes per second for this process. iPhones fetch a ' +
        'pass after its push, so the limit also spreads their requests. 0 means no limit.',
      default: 0,
      min: 0,
      max: 100_000,
    }),
    'google-key': Flags.string({
      summary:
        'Service account key, or configuration of workload identity: a JSON file, or the JSON itself (default, if an ' +
        'issuer ID is set: the account of this machine).',
    }),
    'google-issuer-id': Flags.string({ summary: 'Google Wallet issuer ID.' }),
    'sandbox-dir': Flags.string({
      summary:
        'Folder of the sandbox, which all servers of this machine can share (default: next to the SQLite file; with ' +
        'PostgreSQL, passes.sandbox in the working directory).',
    }),
    fault: Flags.string({
      summary: 'Fault that a sandboxed platform simulates: apns-410, apns-slow, google-500, google-quota … Repeatable.',
      ...repeatable,
      default: [],
    }),
  }),
  ...settings('EMAIL', {
    'smtp-url': Flags.string({
      summary:
        'SMTP server for the email of join pages: smtp://user:password@host:587, or smtps:// (default: no email). Set it ' +
        'for every process.',
    }),
    'mail-from': Flags.string({
      summary: 'Sender of email, as an address or "Name <address>" (default: passes@ and the host of --public-url).',
    }),
  }),
  ...settings('SECURITY', {
    'server-key': Flags.string({
      summary:
        'Secret of at least 32 bytes, hex or base64url. Required with PostgreSQL. With SQLite, the default is a file ' +
        'next to the database, created at the first start.',
    }),
    'previous-server-keys': Flags.string({
      summary: 'Previous server keys, separated by commas, which stay valid during a key rotation.',
      default: '',
    }),
    'trusted-proxies': Flags.integer({
      summary: 'Number of trusted proxies in front of the server, each of which adds to X-Forwarded-For.',
      default: 0,
      min: 0,
    }),
    'cors-origin': Flags.string({
      summary:
        'Origin whose pages can call the API from a browser, such as https://app.example.com. Repeatable, or separated ' +
        'by commas (default: none).',
      ...repeatable,
      default: [],
    }),
    'allow-insecure-webhooks': Flags.boolean({
      summary: 'For development: allow webhooks to plain http addresses and to hosts of the local network.',
    }),
  }),
  ...settings('SIGN-IN', oidcFlags),
  ...settings('LIMITS', {
    'rate-limit': Flags.integer({
      summary: 'Maximum number of requests per second and token; 0 means no limit.',
      default: 100,
      min: 0,
    }),
    'rate-burst': Flags.integer({
      summary: 'Maximum number of requests in a burst, after the token was idle; 0 counts as 1.',
      default: 200,
      min: 0,
    }),
    'join-rate': Flags.integer({
      summary: 'Maximum number of submitted join forms per minute and client address; 0 means no limit.',
      default: 60,
      min: 0,
    }),
    'join-page-rate': Flags.integer({
      summary: 'Maximum number of submitted join forms per minute and join page; 0 means no limit.',
      default: 600,
      min: 0,
    }),
    'max-connections': Flags.integer({
      summary:
        'Maximum number of open connections, 10-1,000,000. Without trusted proxies, an address can use half of them.',
      default: 5_000,
      min: 10,
      max: 1_000_000,
    }),
    'link-ttl': Flags.integer({
      summary: 'Days for which hosted links work if their pass has no expiry.',
      default: 400,
      min: 1,
    }),
    'retain-deliveries': Flags.integer({
      summary: 'Days for which finished webhook deliveries are kept, with their attempts and events; 0 means forever.',
      default: 30,
      min: 0,
      max: 36_500,
    }),
    'retain-audit': Flags.integer({
      summary: 'Days for which entries of the audit log are kept; 0 means forever.',
      default: 365,
      min: 0,
      max: 36_500,
    }),
  }),
  ...settings('OBSERVING', {
    'metrics-port': Flags.integer({
      summary: 'Port for Prometheus metrics; 0 selects a free one (default: no metrics).',
      min: 0,
      max: 65_535,
    }),
    'metrics-host': Flags.string({
      summary: 'Address on which metrics are served, without authentication.',
      default: '127.0.0.1',
    }),
    'log-level': Flags.option({ options: ['debug', 'info', 'warn', 'error', 'silent'] as const })({
      summary:
        'Minimum severity of log entries (JSON on stderr): info includes all changes; debug also includes reads and ' +
        'jobs.',
      default: 'info' as const,
    }),
  }),
}

/** Gives each flag an environment variable of the same name: `PASSES_RATE_LIMIT` for `--rate-limit`. */
function settings<F extends Interfaces.FlagInput>(helpGroup: string | undefined, flags: F): F {
  for (const [name, flag] of Object.entries(flags)) {
    Object.assign(flag, { env: `PASSES_${name.replaceAll('-', '_').toUpperCase()}`, ...(helpGroup && { helpGroup }) })
  }
  return flags
}

/** Returns the values of a repeatable flag. Splits its environment variable at commas, which oclif does not do. */
function valuesOf(given: string[] | string): string[] {
  const values = [given].flat().flatMap((text) => text.split(','))
  return [...new Set(values.map((value) => value.trim()))]
}

/** Returns a warning for each variable whose name is close to that of a server setting, with a suggestion. */
export function mistypedVariables(names: readonly string[] = ownVariables()): string[] {
  const settings = Object.values(serveFlags).flatMap(({ env }) => env ?? [])
  const unknown = names.filter((name) => !settings.includes(name))
  return unknown.flatMap((name) => {
    const meant = settings.find((setting) => editDistance(name, setting) <= 2)
    return meant === undefined ? [] : [`Warning: ${name} is not a setting; did you mean ${meant}?`]
  })
}

export function parsePlatforms(text: string): Platform[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !platforms.some((platform) => platform === name))
  if (unknown !== undefined) throw new UsageError(`--platforms must be apple, google, or both, not "${unknown}"`)
  return platforms.filter((platform) => names.includes(platform))
}

/** @throws UsageError */
export function parsePublicUrl(url: URL | undefined): string | undefined {
  if (!url) return undefined
  const { protocol, username, password, search, hash, origin, pathname } = url
  if (/^https?:$/.test(protocol) && !username && !password && !search && !hash) return `${origin}${pathname}`
  // Do not print the value: it can contain a password.
  throw new UsageError('--public-url must begin with https:// or http://, and contain no user, query, or fragment', {
    hint: 'write it like https://passes.example.com.',
  })
}

/** @throws UsageError */
export function parseOrigins(given: string[] | string): string[] {
  const origins = valuesOf(given)
  for (const origin of origins) {
    if (/^https?:[^*]+$/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin) continue
    throw new UsageError('--cors-origin must be the scheme, host, and port of a page, without a path', {
      hint: 'write it like https://app.example.com or http://localhost:5173, in lower case and without a slash at the end.',
    })
  }
  return origins
}

/** @throws UsageError */
export function serverConfig(flags: Interfaces.InferredFlags<typeof serveFlags>) {
  requireClearSwitches(serveFlags)
  return {
    host: flags.host,
    port: flags.port,
    metrics:
      flags['metrics-port'] === undefined ? undefined : { host: flags['metrics-host'], port: flags['metrics-port'] },
    databaseUrl: flags.database,
    publicUrl: parsePublicUrl(flags['public-url']),
    badgesFolder: flags.badges,
    role: flags.role,
    isProduction: flags.production,
    isFrozen: flags.freeze,
    platforms: parsePlatforms(flags.platforms),
    mail: flags['smtp-url'] === undefined ? undefined : { smtpUrl: flags['smtp-url'], from: flags['mail-from'] },
    serverKey: flags['server-key'],
    previousServerKeys: flags['previous-server-keys'].split(',').filter((key) => key.trim() !== ''),
    rateLimit: flags['rate-limit'],
    rateBurst: flags['rate-burst'],
    pushRate: flags['push-rate'],
    joinRates: { perAddress: flags['join-rate'], perPage: flags['join-page-rate'] },
    maxConnections: flags['max-connections'],
    linkTtlDays: flags['link-ttl'],
    retention: { deliveriesDays: flags['retain-deliveries'], auditDays: flags['retain-audit'] },
    allowInsecureWebhooks: flags['allow-insecure-webhooks'],
    trustedProxies: flags['trusted-proxies'],
    applePrefixes: [...new Set(valuesOf(flags['apple-prefix']).map((path) => path.replace(/\/+$/, '')))],
    corsOrigins: parseOrigins(flags['cors-origin']),
    oidc: oidcConfig(flags, valuesOf(flags['oidc-role-map'])),
    sandboxFolder: flags['sandbox-dir'],
    faults: valuesOf(flags.fault),
    apple: {
      certificate: flags['apple-certificate'],
      key: flags['apple-key'],
      keyPassphrase: flags['apple-key-passphrase'],
      wwdr: flags['apple-wwdr'],
      passTypeIdentifier: flags['apple-pass-type'],
      teamIdentifier: flags['apple-team'],
    },
    google: { serviceAccount: flags['google-key'], issuerId: flags['google-issuer-id'] },
  }
}
