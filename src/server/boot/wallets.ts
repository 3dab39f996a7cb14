import type { Platform } from '../../core/contract/platform.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities.ts'
import {
  type AppleCredentials,
  type AppleIdentity,
  type CredentialSource,
  parseAppleIdentity,
} from '../../wallets/apple/identity.ts'
import { isPkcs12, readPkcs12 } from '../../wallets/apple/pkcs12.ts'
import { type AppleWallet, createAppleWallet } from '../../wallets/apple/wallet.ts'
import type { KeylessOptions } from '../../wallets/google/api/keyless.ts'
import {
  assertIssuerId,
  type GoogleSigner,
  keylessConfiguration,
  parseGoogleIdentity,
} from '../../wallets/google/identity.ts'
import { createGoogleWallet, type GoogleWallet } from '../../wallets/google/wallet.ts'
import { CredentialError, type LoadImageFiles, type Wallet } from '../../wallets/wallet.ts'
import { webServiceUrl } from '../inbound/own-address.ts'
import { type Config, readSecret } from './config.ts'
import type { Logger } from './log.ts'
import { loadSandboxApple, loadSandboxGoogle } from './sandbox.ts'

/** The configured platforms. */
export interface Wallets {
  apple?: AppleWallet
  google?: GoogleWallet
  all: Wallet[]
  /** Those of which no real phone takes a pass. */
  sandboxed: Platform[]
}

/** Who signs as the flags say (the identity `server`), for each configured platform, and which of them are emulators. */
export interface ServerIdentities {
  apple?: AppleIdentity
  google?: GoogleSigner
  sandboxed: Platform[]
}

/**
 * Reads or makes the credentials of the configured platforms and checks them.
 * @throws CredentialError
 */
export async function loadIdentities(config: Config, at: Date): Promise<ServerIdentities> {
  const sandboxed = sandboxedPlatforms(config)
  const has = (platform: Platform) => config.platforms.includes(platform)
  return {
    ...(has('apple') && { apple: await loadApple(config, sandboxed.includes('apple'), at) }),
    ...(has('google') && { google: await loadGoogle(config, sandboxed.includes('google')) }),
    sandboxed,
  }
}

/**
 * The configured platforms that have no credentials.
 * @throws CredentialError in production, where there must be none
 */
export function sandboxedPlatforms(config: Config): Platform[] {
  const sandboxed = config.platforms.filter((platform) => !hasCredentials(config, platform))
  if (config.isProduction && sandboxed.length > 0) {
    throw new CredentialError(
      `--production refuses the sandbox: no credentials for ${sandboxed.join(' and ')}. Give them, or leave the platform ` +
        'out with --platforms.',
    )
  }
  return sandboxed
}

/** The platforms that this server issues for. */
export function createWallets(
  identities: ServerIdentities,
  options: { publicUrl: string; loadImageFiles: LoadImageFiles },
): Wallets {
  const { publicUrl, loadImageFiles } = options
  const apple =
    identities.apple &&
    createAppleWallet({ identity: identities.apple, webServiceUrl: webServiceUrl(publicUrl), loadImageFiles })
  const google = identities.google && createGoogleWallet({ identity: identities.google, publicUrl })
  return {
    ...(apple && { apple }),
    ...(google && { google }),
    all: [apple, google].filter((wallet) => wallet !== undefined),
    sandboxed: identities.sandboxed,
  }
}

/** True where a platform was given credentials, and so does not run in the sandbox. */
export function hasCredentials({ apple, google }: Config, platform: Platform): boolean {
  return platform === 'apple'
    ? [apple.certificate, apple.key, apple.wwdr].some((value) => value !== undefined)
    : [google.serviceAccount, google.issuerId].some((value) => value !== undefined)
}

async function loadApple(config: Config, isSandboxed: boolean, at: Date): Promise<AppleIdentity> {
  if (isSandboxed) return (await loadSandboxApple(config, at)).identity
  return parseAppleIdentity(readAppleCredentials(config), at)
}

/**
 * What stands in the files, not looked at yet.
 * @throws CredentialError
 */
export function readAppleCredentials({ apple }: Pick<Config, 'apple'>): AppleCredentials {
  const { certificate, key, keyPassphrase, wwdr, passTypeIdentifier, teamIdentifier } = apple
  const given = readSecret(required(certificate, '--apple-certificate'), '--apple-certificate')
  const keyGiven = isPkcs12(given) ? undefined : readSecret(required(key, '--apple-key'), '--apple-key')
  return {
    ...readPassFiles({ certificate: given, key: keyGiven }, keyPassphrase),
    wwdr: readSecret(required(wwdr, '--apple-wwdr'), '--apple-wwdr'),
    ...(passTypeIdentifier !== undefined && { passTypeIdentifier }),
    ...(teamIdentifier !== undefined && { teamIdentifier }),
  }
}

/**
 * A certificate and its key, which a .p12 file holds together.
 * @param passphrase of the key, or of the .p12 file
 * @throws CredentialError
 */
export function readPassFiles(
  { certificate, key }: { certificate: CredentialSource; key: CredentialSource | undefined },
  passphrase: string | undefined,
): Pick<AppleCredentials, 'certificate' | 'key'> {
  if (isPkcs12(certificate)) {
    const { source } = certificate
    const read = readPkcs12(certificate, passphrase)
    return { certificate: { source, pem: read.certificate }, key: { source, pem: read.key } }
  }
  if (!key) throw new CredentialError(`${certificate.source} has no private key: give the file of the key too.`)
  return { certificate, key: { ...key, ...(passphrase !== undefined && { passphrase }) } }
}

async function loadGoogle(config: Config, isSandboxed: boolean): Promise<GoogleSigner> {
  return isSandboxed ? loadSandboxGoogle(config) : readGoogleIdentity(config)
}

/**
 * The service account of a key, of a configuration of workload identity, or where only the issuer is given of this machine.
 * @throws CredentialError
 */
export async function readGoogleIdentity({ google }: Pick<Config, 'google'>): Promise<GoogleSigner> {
  const issuerId = required(google.issuerId, '--google-issuer-id')
  assertIssuerId(issuerId)
  if (google.serviceAccount === undefined) return loadKeyless({ issuerId })
  const { source, pem } = readSecret(google.serviceAccount, '--google-key')
  const file = { source, json: pem.toString() }
  const configuration = keylessConfiguration(file)
  return configuration ? loadKeyless({ issuerId, configuration }) : parseGoogleIdentity(file, issuerId)
}

/** What it needs takes long to load, and who has a key needs none of it. */
export async function loadKeyless(options: KeylessOptions): Promise<GoogleSigner> {
  const { createKeylessIdentity } = await import('../../wallets/google/api/keyless.ts')
  return createKeylessIdentity(options)
}

function required(value: string | undefined, flag: string): string {
  if (value === undefined)
    throw new CredentialError(`${flag} is missing: it belongs to the other credentials of its platform.`)
  return value
}

/** A certificate that passes depend on. */
export interface Certificate {
  id: 'apple_pass' | 'apple_wwdr'
  /** As messages call it. */
  name: string
  /** The identity of the database that it is of; the server's own where left out. */
  identity?: string
  notAfter: Date
}

const DAY_SECONDS = 86_400

/** From then on its end is warned of. */
export const WARNING_DAYS = 30

/** From then on it is urgent: a renewal takes days. */
const URGENT_DAYS = 7

/** The certificates that packages are signed with, by the days that they have left; none without Apple. */
export function certificatesOf({ apple }: Pick<ServerIdentities, 'apple'>): Certificate[] {
  if (!apple) return []
  return [
    { id: 'apple_pass', name: 'Apple pass certificate', notAfter: apple.certificate.notAfter },
    { id: 'apple_wwdr', name: 'Apple WWDR certificate', notAfter: apple.wwdr.notAfter },
  ]
}

/** The certificates of identities of the database. */
export function certificatesOfIdentities(identities: Pick<StoredIdentity, 'name' | 'expiresAt'>[]): Certificate[] {
  return identities.flatMap(({ name: identity, expiresAt: notAfter }) =>
    notAfter ? [{ id: 'apple_pass' as const, name: 'Apple pass certificate', identity, notAfter }] : [],
  )
}

/** Seconds until a certificate ends; negative once it has expired. */
export function secondsLeft({ notAfter }: Pick<Certificate, 'notAfter'>, at: Date): number {
  return (notAfter.getTime() - at.getTime()) / 1000
}

/** Whole days until a certificate ends; negative once it has expired. */
export function daysLeft(certificate: Pick<Certificate, 'notAfter'>, at: Date): number {
  return Math.floor(secondsLeft(certificate, at) / DAY_SECONDS)
}

/** Logs which certificates end soon: a warning from 30 days ahead, an error from 7. */
export function warnOfExpiry(certificates: Certificate[], at: Date, log: Logger): void {
  for (const certificate of certificates) {
    const days = daysLeft(certificate, at)
    if (days >= WARNING_DAYS) continue
    const { id, name, notAfter, identity } = certificate
    const end = days < 0 ? 'has expired' : `expires in ${days} days`
    const message =
      identity === undefined
        ? `the ${name} ${end}: renew it, and put the new file in the place of the old one`
        : `the ${name} of the identity ${identity} ${end}: passes identity renew ${identity}`
    const facts = { certificate: id, ...(identity !== undefined && { identity }), notAfter, daysLeft: days }
    log[days < URGENT_DAYS ? 'error' : 'warn'](facts, message)
  }
}

/** Warns now and once a day. */
export function watchCertificates(
  certificates: () => Certificate[],
  { clock, log }: { clock: () => Date; log: Logger },
): { stop(): Promise<void> } {
  const warn = () => warnOfExpiry(certificates(), clock(), log)
  warn()
  const timer = setInterval(warn, DAY_SECONDS * 1000)
  return { stop: async () => clearInterval(timer) }
}
