import type { Platform } from '../../core/contract/platform.ts'
import {
  type AppleCredentials,
  type AppleIdentity,
  type CredentialSource,
  parseAppleIdentity,
} from '../../wallets/apple/identity.ts'
import { isPkcs12, readPkcs12 } from '../../wallets/apple/pkcs12.ts'
import { createAppleWallet } from '../../wallets/apple/wallet.ts'
import {
  assertIssuerId,
  type GoogleSigner,
  keylessConfiguration,
  parseGoogleIdentity,
} from '../../wallets/google/identity.ts'
import { createGoogleWallet } from '../../wallets/google/wallet.ts'
import { CredentialError, type LoadImageFiles } from '../../wallets/wallet.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import { type Config, readSecret } from '../config.ts'
import { loadKeyless } from '../identities/secrets.ts'
import { webServiceUrl } from '../inbound/own-address.ts'
import { loadSandboxApple, loadSandboxGoogle } from './sandbox.ts'

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

function required(value: string | undefined, flag: string): string {
  if (value === undefined)
    throw new CredentialError(`${flag} is missing: it belongs to the other credentials of its platform.`)
  return value
}
