import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Platform } from '../core/contract/schemas/platform.ts'
import type { PersonRole } from '../core/rules/people/person-roles.ts'
import { sqliteFile } from '../storage/db/database.ts'
import { CredentialError } from '../wallets/wallet.ts'

/** The role of a process: it serves requests (`api`), runs jobs and schedules (`worker`), or both (`all`). */
export type ServerRole = 'all' | 'api' | 'worker'

/** A credential: the path of a file, or the content itself if the text starts with -----BEGIN or {. */
export type Secret = string

/** The number of days for which past records are kept; 0 keeps them forever. */
export interface RetentionDays {
  /** The number of days for which ended webhook deliveries, their attempts, and their events are kept. */
  deliveriesDays: number
  auditDays: number
}

export interface OidcConfig {
  issuer: URL
  clientId: string
  clientSecret: string
  /** Whether email addresses count as verified regardless of the claim `email_verified`. */
  trustsEmail: boolean
  /** The claim that lists the groups of a person. If omitted, only memberships give roles. */
  rolesClaim?: string | undefined
  /** The roles of groups. In addition, a group with the name of a role has that role in the workspace `default`. */
  groupRoles: GroupRole[]
}

export interface GroupRole {
  group: string
  role: PersonRole
  /** The name or ID of a workspace. */
  workspace: string
}

export interface Config {
  host: string
  /** The port; 0 uses any free port. */
  port: number
  /** The address at which metrics are served; port 0 uses any free port. If omitted, metrics are not served. */
  metrics?: { host: string; port: number } | undefined
  databaseUrl: string
  /** The address for phones and browsers. Default: the listening address. */
  publicUrl?: string | undefined
  role: ServerRole
  /** Whether the server refuses to start with a sandboxed platform or without an https address. */
  isProduction: boolean
  /** Whether every write is rejected and no background work runs. */
  isFrozen?: boolean
  platforms: Platform[]
  serverKey?: string | undefined
  previousServerKeys: string[]
  /** Requests per second and token; 0 disables the limit. */
  rateLimit: number
  rateBurst: number
  /** The maximum number of phones that a process pushes to per second for bulk changes; 0 means no limit. */
  pushRate?: number
  /** The maximum number of join-page submissions per minute. Default: the rates of `createJoinLimits`. */
  joinRates?: { perAddress: number; perPage: number }
  maxConnections: number
  /** The lifetime of hosted links, in days, if the pass has no expiry. */
  linkTtlDays: number
  /** If omitted, the server sends no email. */
  mail?: { smtpUrl: string; from?: string | undefined } | undefined
  /** The folder of the Apple and Google badges of hosted pages. */
  badgesFolder?: string | undefined
  retention: RetentionDays
  /** Whether webhooks can use plain http and hosts of the private network, for development. */
  allowInsecureWebhooks: boolean
  /** The number of trusted proxies in front of the server. They set X-Forwarded-For. */
  trustedProxies: number
  /** Additional paths of the PassKit web service, for imported passes that other providers issued. */
  applePrefixes?: string[]
  corsOrigins?: string[]
  /** The provider with which people sign in. If omitted, people cannot sign in. */
  oidc?: OidcConfig | undefined
  /** The folder of sandbox credentials. Default: next to the SQLite file, or in the working directory. */
  sandboxFolder?: string | undefined
  /** Faults that the emulators of the sandbox simulate. */
  faults: string[]
  apple: {
    certificate?: Secret | undefined
    key?: Secret | undefined
    keyPassphrase?: string | undefined
    wwdr?: Secret | undefined
    passTypeIdentifier?: string | undefined
    teamIdentifier?: string | undefined
  }
  google: {
    serviceAccount?: Secret | undefined
    issuerId?: string | undefined
  }
}

/** Whether the host of a URL is this machine. Browsers treat such a URL as secure even without https. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** Returns the path of the server key, next to the SQLite file; undefined for PostgreSQL, which has no key file. */
export function serverKeyFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const file = sqliteFile(config.databaseUrl)
  return file && `${resolve(file)}.key`
}

/** Returns the path of the first owner token, next to the SQLite file; undefined for PostgreSQL. */
export function firstTokenFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const file = sqliteFile(config.databaseUrl)
  return file && `${resolve(file)}.token`
}

/** Returns the folder of the sandbox. Default: next to the SQLite file; for PostgreSQL, in the working directory. */
export function sandboxFolder(config: Pick<Config, 'databaseUrl' | 'sandboxFolder'>): string {
  if (config.sandboxFolder) return resolve(config.sandboxFolder)
  const file = sqliteFile(config.databaseUrl)
  return file ? `${resolve(file)}.sandbox` : join(process.cwd(), 'passes.sandbox')
}

/** Returns the content of a credential, and its source for errors. @throws CredentialError if it cannot be read */
export function readSecret(secret: Secret, flag: string): { source: string; pem: Buffer } {
  if (/^\s*(-----BEGIN|\{)/.test(secret)) return { source: flag, pem: Buffer.from(secret) }
  if (!existsSync(secret)) {
    throw new CredentialError(`${flag}: file ${secret} not found (looked in ${dirname(resolve(secret))})`)
  }
  try {
    return { source: secret, pem: readFileSync(secret) }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EISDIR' ? 'is a folder, not a file' : `cannot be read (${code})`
    throw new CredentialError(`${flag}: ${secret} ${why}`, { cause })
  }
}
