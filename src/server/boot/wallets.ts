import { type Platform, platforms } from '../../core/contract/platform.ts'
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
import { CredentialError, type LoadImageFiles, type Wallet } from '../../wallets/wallet.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import { type Config, readSecret } from '../config.ts'
import { loadKeyless } from '../identities/secrets.ts'
import { webServiceUrl } from '../inbound/own-address.ts'
import { loadSandboxApple, loadSandboxGoogle } from './sandbox.ts'

interface WalletOptions {
  publicUrl: string
  loadImageFiles: LoadImageFiles
}

/** How a platform is issued for by the identity of the flags. */
interface PlatformSetup<Identity> {
  /** Whether the platform has credentials, and so does not run in the sandbox. */
  hasCredentials(config: Config): boolean
  /** Reads the credentials, or creates those of the sandbox, and checks them. @throws CredentialError */
  load(config: Config, isSandboxed: boolean, at: Date): Promise<Identity>
  createWallet(identity: Identity, options: WalletOptions): Wallet
}

const apple = {
  hasCredentials: ({ apple: { certificate, key, wwdr } }) =>
    [certificate, key, wwdr].some((value) => value !== undefined),
  async load(config, isSandboxed, at) {
    if (isSandboxed) return (await loadSandboxApple(config, at)).identity
    return parseAppleIdentity(readAppleCredentials(config), at)
  },
  createWallet: (identity, { publicUrl, loadImageFiles }) =>
    createAppleWallet({ identity, webServiceUrl: webServiceUrl(publicUrl), loadImageFiles }),
} satisfies PlatformSetup<AppleIdentity>

const google = {
  hasCredentials: ({ google: { serviceAccount, issuerId } }) =>
    [serviceAccount, issuerId].some((value) => value !== undefined),
  load: (config, isSandboxed) => (isSandboxed ? loadSandboxGoogle(config) : readGoogleIdentity(config)),
  createWallet: (identity, { publicUrl }) => createGoogleWallet({ identity, publicUrl }),
} satisfies PlatformSetup<GoogleSigner>

const setups = { apple, google } satisfies Record<Platform, unknown>

/** The signing identities of the flags (the identity `server`), by platform, and which platforms are emulated. */
export type ServerIdentities = Partial<{ [P in Platform]: Awaited<ReturnType<(typeof setups)[P]['load']>> }> & {
  sandboxed: Platform[]
}

/** Reads or creates the credentials of the configured platforms and checks them. @throws CredentialError */
export async function loadIdentities(config: Config, at: Date): Promise<ServerIdentities> {
  const sandboxed = sandboxedPlatforms(config)
  const identities = await Promise.all(
    config.platforms.map(async (platform) => [
      platform,
      await setups[platform].load(config, sandboxed.includes(platform), at),
    ]),
  )
  return { ...Object.fromEntries(identities), sandboxed }
}

/** Returns the configured platforms without credentials. @throws CredentialError in production if there are any */
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

export function createWallets(identities: ServerIdentities, options: WalletOptions): Wallets {
  const all = platforms.flatMap((platform) => {
    const setup: Pick<PlatformSetup<never>, 'createWallet'> = setups[platform]
    const identity = identities[platform]
    return identity ? [setup.createWallet(identity as never, options)] : []
  })
  return {
    ...Object.fromEntries(all.map((wallet) => [wallet.platform, wallet])),
    all,
    sandboxed: identities.sandboxed,
  }
}

/** Whether a platform has credentials, and so does not run in the sandbox. */
export function hasCredentials(config: Config, platform: Platform): boolean {
  return setups[platform].hasCredentials(config)
}

/** Reads the credential files without checking them. @throws CredentialError */
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
 * Returns a certificate and its key, which one .p12 file can hold.
 * @param passphrase of the key or the .p12 file
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

/**
 * Returns the service account of a key file or a workload identity configuration. If only the issuer is given, returns
 * the account of this machine.
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
