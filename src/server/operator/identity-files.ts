import { type AppleCredentials, type AppleIdentity, parseAppleIdentity } from '../../wallets/apple/apple-identity.ts'
import { readSecret } from '../config.ts'
import { readPassFiles } from '../identities/credentials.ts'
import { type AppleSecrets, toKeyPem, toPem } from '../identities/secrets.ts'
import { OperatorError } from './operator.ts'

export interface AppleFiles {
  /** The certificate, or a .p12 file that also holds the key. */
  certificate: string
  key?: string | undefined
  /** The passphrase of the key or the .p12 file. */
  passphrase?: string | undefined
  wwdr?: string | undefined
}

/** Returns the contents as they are stored. @param known used without a --wwdr file @throws SetupError */
export function readFiles(
  { certificate, key, passphrase, wwdr }: AppleFiles,
  known?: AppleCredentials['wwdr'],
): AppleSecrets {
  const pass = readPassFiles(
    { certificate: readSecret(certificate, '--certificate'), key: key === undefined ? key : readSecret(key, '--key') },
    passphrase,
  )
  const intermediate = wwdr === undefined ? known : readSecret(wwdr, '--wwdr')
  if (!intermediate) throw new OperatorError("Also give Apple's intermediate certificate: --wwdr (WWDR G4).")
  return {
    certificate: toPem(pass.certificate),
    key: toKeyPem(pass.key),
    wwdr: toPem(intermediate),
  }
}

/** Runs every check of a certificate that a server runs when it starts. @throws CredentialError */
export async function checkIdentity(credentials: AppleCredentials, at: Date): Promise<AppleIdentity> {
  const identity = parseAppleIdentity(credentials, at)
  // Imported on demand: it loads the APNs client, which other commands do not need.
  const { assertTakesPush } = await import('../../wallets/apple/push.ts')
  assertTakesPush(identity)
  return identity
}

/** Returns the content of the key file of a service account; null without a file. @throws SetupError */
export function readKeyFile(keyFile: string | undefined): string | null {
  return keyFile === undefined ? null : readSecret(keyFile, '--key-file').pem.toString()
}

/** Returns the contents as credentials to check, each with the file that it comes from. */
export function credentialsOf(secrets: AppleSecrets, from: object): AppleCredentials {
  const files: Partial<AppleFiles> = from
  const of = (name: 'certificate' | 'key' | 'wwdr') => ({ source: files[name] ?? `--${name}`, pem: secrets[name] })
  return { certificate: of('certificate'), key: of('key'), wwdr: of('wwdr') }
}
