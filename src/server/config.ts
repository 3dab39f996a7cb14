import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Platform } from '../core/contract/schemas/platform.ts'
import type { PersonRole } from '../core/rules/people/person-roles.ts'
import { sqliteFile } from '../storage/db/database.ts'
import { CredentialError } from '../wallets/wallet.ts'

/** The role of a process: it serves requests (`api`), runs jobs and schedules (`worker`), or both (`all`). */
export type ServerRole = 'all' | 'api' | 'worker'

/** A credential: the path of a file, or its content if it starts with -----BEGIN or {. */
export type Secret = string

/** The number of days for which past records are kept; 0 keeps them forever. */
export interface RetentionDays {
  /** Webhook deliveries that have ended, with their attempts and events. */
  deliveriesDays: number
  auditDays: number
}

/** The OpenID Connect provider at which people sign in. */
export interface OidcConfig {
  issuer: URL
  clientId: string
  clientSecret: string
  /** Whether an email address counts as verified without the claim `email_verified`. */
  trustsEmail: boolean
  /** The claim with the groups of a person; undefined if only members have roles. */
  rolesClaim?: string | undefined
  /** The roles of groups. A group with the name of a role also has this role in the workspace `default`. */
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
  /** 0 uses any free port. */
  port: number
  /** The address of the metrics, if they are served; port 0 uses any free one. */
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
  /** The phones that this process pushes to per second for bulk changes; 0 pushes as fast as APNs accepts. */
  pushRate?: number
  /** The submissions of join pages per minute; the defaults of `createJoinLimits` if omitted. */
  joinRates?: { perAddress: number; perPage: number }
  maxConnections: number
  /** The lifetime of hosted links of a pass without an expiry, in days. */
  linkTtlDays: number
  /** The SMTP server and the sender of email; omitted if the server sends none. */
  mail?: { smtpUrl: string; from?: string | undefined } | undefined
  /** The folder of the Apple and Google badges of hosted pages. */
  badgesFolder?: string | undefined
  retention: RetentionDays
  /** Whether webhooks over plain http, and to hosts of the private network, are allowed, for development. */
  allowInsecureWebhooks: boolean
  /** The number of proxies in front of the server whose X-Forwarded-For is trusted. */
  trustedProxies: number
  /** Further paths that serve phones, for passes from other providers. */
  applePrefixes?: string[]
  /** The origins whose pages can call the API from a browser. */
  corsOrigins?: string[]
  /** Default: people cannot sign in. */
  oidc?: OidcConfig | undefined
  /** The folder of sandbox credentials. Default: next to the SQLite file. */
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

/** Whether a host of a URL is this machine, which browsers trust without https. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** The file of the server key next to a SQLite database; undefined for PostgreSQL, whose key must be given. */
export function serverKeyFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const file = sqliteFile(config.databaseUrl)
  return file && `${resolve(file)}.key`
}

/** The private file for the first owner token next to a SQLite database; undefined for PostgreSQL. */
export function firstTokenFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const file = sqliteFile(config.databaseUrl)
  return file && `${resolve(file)}.token`
}

/** The configured folder of the sandbox, else one next to the SQLite file. */
export function sandboxFolder(config: Pick<Config, 'databaseUrl' | 'sandboxFolder'>): string {
  if (config.sandboxFolder) return resolve(config.sandboxFolder)
  const file = sqliteFile(config.databaseUrl)
  return file ? `${resolve(file)}.sandbox` : join(process.cwd(), 'passes.sandbox')
}

/** Returns the content of a credential and its name for errors. @throws CredentialError */
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
