import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Platform } from '../core/contract/platform.ts'
import { sqliteFile } from '../storage/db/database.ts'
import { CredentialError } from '../wallets/wallet.ts'

/** What a process of a fleet does: answers requests, runs jobs and schedules, or both. */
export type ServerRole = 'all' | 'api' | 'worker'

/** A credential: the path of a file, or its content, which starts with -----BEGIN or {. */
export type Secret = string

/** How many days what is over is kept; 0 keeps it forever. */
export interface RetentionDays {
  /** Webhook deliveries that ended, their attempts and events. */
  deliveriesDays: number
  /** Entries of the audit log. */
  auditDays: number
}

/** Every setting of the server, as flags and environment gave them. */
export interface Config {
  host: string
  /** 0 takes any free port. */
  port: number
  /** Where metrics are served, if anywhere; port 0 takes any free one. */
  metrics?: { host: string; port: number } | undefined
  databaseUrl: string
  /** The address that phones and browsers reach the server by; the listening address by default. */
  publicUrl?: string | undefined
  role: ServerRole
  /** Refuses to start with a sandboxed platform, or without an https address. */
  isProduction: boolean
  /** Reads and writes nothing: every write is refused, and no background work is done. */
  isFrozen?: boolean
  platforms: Platform[]
  serverKey?: string | undefined
  previousServerKeys: string[]
  /** Requests a second for each token; 0 turns the limit off. */
  rateLimit: number
  rateBurst: number
  /** Of what concerns many passes, those whose iPhones this process tells in a second; 0 tells them as quickly as Apple takes it. */
  pushRate?: number
  /** Connections that are open at once. */
  maxConnections: number
  /** Days that hosted links of a pass without an expiry live. */
  linkTtlDays: number
  /** The folder of the badges of Apple and Google that hosted pages show. */
  badgesFolder?: string | undefined
  retention: RetentionDays
  /** For development: webhooks over plain http, and to hosts of the own network. */
  allowInsecureWebhooks: boolean
  /** Proxies in front of the server whose X-Forwarded-For is believed. */
  trustedProxies: number
  /** Paths under which phones of passes from other providers ask, beside our own. */
  applePrefixes?: string[]
  /** Where sandbox credentials are kept; beside a SQLite file by default. */
  sandboxFolder?: string | undefined
  /** What the emulators of the sandbox are to do wrong. */
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

/** The file of the server key beside a SQLite database; undefined where the key must be given. */
export function serverKeyFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const file = sqliteFile(config.databaseUrl)
  return file && `${resolve(file)}.key`
}

/** The private file for the first owner token next to a SQLite database; undefined for PostgreSQL. */
export function firstTokenFile(config: Pick<Config, 'databaseUrl'>): string | undefined {
  const file = sqliteFile(config.databaseUrl)
  return file && `${resolve(file)}.token`
}

/** The folder of the sandbox: the one that was set, else one beside a SQLite file. */
export function sandboxFolder(config: Pick<Config, 'databaseUrl' | 'sandboxFolder'>): string {
  if (config.sandboxFolder) return resolve(config.sandboxFolder)
  const file = sqliteFile(config.databaseUrl)
  return file ? `${resolve(file)}.sandbox` : join(process.cwd(), 'passes.sandbox')
}

/**
 * The content of a credential and what to call it in an error.
 * @throws CredentialError
 */
export function readSecret(secret: Secret, flag: string): { source: string; pem: Buffer } {
  if (/^\s*(-----BEGIN|\{)/.test(secret)) return { source: flag, pem: Buffer.from(secret) }
  if (!existsSync(secret)) {
    throw new CredentialError(`${flag}: there is no file ${secret} (looked in ${dirname(resolve(secret))})`)
  }
  try {
    return { source: secret, pem: readFileSync(secret) }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EISDIR' ? 'is a folder, and no file' : `cannot be read (${code})`
    throw new CredentialError(`${flag}: ${secret} ${why}`, { cause })
  }
}
