import { z } from 'zod'
import { isSealedUnder, type ServerKeys, seal, unlessLost, unseal } from '../../core/rules/crypto/server-key.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities-repository.ts'
import {
  type AppleCredentials,
  type AppleIdentity,
  type CredentialSource,
  parseKeyPair,
  readAppleIdentity,
} from '../../wallets/apple/apple-identity.ts'
import { isPkcs12, readPkcs12 } from '../../wallets/apple/pkcs12.ts'
import type { KeylessOptions } from '../../wallets/google/api/keyless.ts'
import {
  assertIssuerId,
  type GoogleSigner,
  keylessConfiguration,
  parseGoogleIdentity,
} from '../../wallets/google/google-identity.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import { type Config, readSecret } from '../config.ts'
import type { Logger } from '../log.ts'

/** The secrets of an Apple identity, in PEM. They are stored encrypted. The key has no passphrase. */
export const AppleSecrets = z.object({ certificate: z.string(), key: z.string(), wwdr: z.string() })
export type AppleSecrets = z.output<typeof AppleSecrets>

export function sealSecrets(text: string, id: string, { current }: Pick<ServerKeys, 'current'>): string {
  return seal(text, id, current, 'identities')
}

/**
 * Decrypts and reads a stored Apple identity. Accepts an expired certificate.
 * @throws CredentialError, SealError
 */
export function openApple(stored: StoredIdentity, keys: ServerKeys): AppleIdentity {
  return readAppleIdentity(storedCredentials(stored, keys))
}

export function storedCredentials(stored: StoredIdentity, keys: ServerKeys): AppleCredentials {
  const { certificate, key, wwdr } = AppleSecrets.parse(JSON.parse(openText(stored, keys) ?? '{}'))
  const source = `the identity ${stored.name}`
  return { certificate: { source, pem: certificate }, key: { source, pem: key }, wwdr: { source, pem: wwdr } }
}

/** @throws CredentialError, SealError */
export async function openGoogle(stored: StoredIdentity, keys: ServerKeys): Promise<GoogleSigner> {
  return readGoogleSigner(`the identity ${stored.name}`, openText(stored, keys), stored.issuerId!)
}

/**
 * Returns the service account of a key file or of a workload identity configuration. If `json` is null, returns the
 * account of this machine.
 * @throws CredentialError
 */
export async function readGoogleSigner(source: string, json: string | null, issuerId: string): Promise<GoogleSigner> {
  if (json === null) return loadKeyless({ issuerId })
  const configuration = keylessConfiguration({ source, json })
  return configuration ? loadKeyless({ issuerId, configuration }) : parseGoogleIdentity({ source, json }, issuerId)
}

/** Decrypts the secrets of an identity; null if the identity uses the account of the machine. @throws SealError */
export function openText({ id, sealed }: StoredIdentity, { current, previous }: ServerKeys): string | null {
  return sealed === null ? null : unseal(sealed, id, [current, ...previous], 'identities')
}

/**
 * Encrypts the secrets again under the current server key, so that previous server keys can be retired. Secrets that
 * cannot be decrypted stay unchanged, and the log names their identities. Passes of such an identity wait until the
 * operator renews the identity.
 */
export async function resealIdentities(store: Store, keys: ServerKeys, log: Pick<Logger, 'error'>): Promise<void> {
  for (const stored of await store.identities.listAll()) {
    const { id, name, sealed } = stored
    if (sealed === null || isSealedUnder(sealed, keys.current)) continue
    const renewed = unlessLost(
      () => sealSecrets(openText(stored, keys)!, id, keys),
      (err) =>
        log.error(
          { err, identity: name },
          'the keys of an identity cannot be read: its passes wait until the identity is renewed',
        ),
    )
    if (renewed !== undefined) await store.transaction((tx) => tx.identities.replaceSealed(id, sealed, renewed))
  }
}

/** Imports the module on demand, because it loads slowly, and key files do not need it. */
async function loadKeyless(options: KeylessOptions): Promise<GoogleSigner> {
  const { createKeylessIdentity } = await import('../../wallets/google/api/keyless.ts')
  return createKeylessIdentity(options)
}

/**
 * Reads the credentials that the flags name. Checks the key only if --apple-wwdr is missing.
 * @throws CredentialError
 */
export function readAppleCredentials({ apple }: Pick<Config, 'apple'>): AppleCredentials {
  const { certificate, key, keyPassphrase, wwdr, passTypeIdentifier, teamIdentifier } = apple
  const given = readSecret(required(certificate, '--apple-certificate'), '--apple-certificate')
  const keyGiven = isPkcs12(given) ? undefined : readSecret(required(key, '--apple-key'), '--apple-key')
  const pass = readPassFiles({ certificate: given, key: keyGiven }, keyPassphrase)
  // Report a wrong key before the missing flag.
  if (wwdr === undefined) parseKeyPair(pass)
  return {
    ...pass,
    wwdr: readSecret(required(wwdr, '--apple-wwdr'), '--apple-wwdr'),
    passTypeIdentifier,
    teamIdentifier,
  }
}

/** Returns the certificate and the key, from a .p12 file or from two files. @throws CredentialError */
export function readPassFiles(
  { certificate, key }: { certificate: CredentialSource; key: CredentialSource | undefined },
  passphrase: string | undefined,
): Pick<AppleCredentials, 'certificate' | 'key'> {
  if (isPkcs12(certificate)) {
    const { source } = certificate
    const read = readPkcs12(certificate, passphrase)
    return { certificate: { source, pem: read.certificate }, key: { source, pem: read.key } }
  }
  if (!key) throw new CredentialError(`${certificate.source} has no private key: also give the file of its key.`)
  return { certificate, key: { ...key, ...(passphrase !== undefined && { passphrase }) } }
}

/** @throws CredentialError */
export async function readGoogleIdentity({ google }: Pick<Config, 'google'>): Promise<GoogleSigner> {
  const issuerId = required(google.issuerId, '--google-issuer-id')
  assertIssuerId(issuerId)
  if (google.serviceAccount === undefined) return loadKeyless({ issuerId })
  const { source, pem } = readSecret(google.serviceAccount, '--google-key')
  return readGoogleSigner(source, pem.toString(), issuerId)
}

function required(value: string | undefined, flag: string): string {
  if (value === undefined)
    throw new CredentialError(`${flag} is missing, but other credentials of its platform are set.`)
  return value
}
