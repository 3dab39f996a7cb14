import type { AppleCredentials, CredentialSource } from '../../wallets/apple/apple-identity.ts'
import { isPkcs12, readPkcs12 } from '../../wallets/apple/pkcs12.ts'
import {
  assertIssuerId,
  type GoogleSigner,
  keylessConfiguration,
  parseGoogleIdentity,
} from '../../wallets/google/google-identity.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import { type Config, readSecret } from '../config.ts'
import { loadKeyless } from './secrets.ts'

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
  if (!key) throw new CredentialError(`${certificate.source} has no private key: also give the file of its key.`)
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
    throw new CredentialError(`${flag} is missing, but other credentials of its platform are set.`)
  return value
}
