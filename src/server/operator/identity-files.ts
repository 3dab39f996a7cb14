import { type AppleCredentials, type AppleIdentity, parseAppleIdentity } from '../../wallets/apple/identity.ts'
import { readPassFiles } from '../boot/wallets.ts'
import { readSecret } from '../config.ts'
import { type AppleSecrets, toKeyPem, toPem } from '../identities/secrets.ts'
import { OperatorError } from './operator.ts'

/** The files of a certificate of Apple. */
export interface AppleFiles {
  /** Certificate, or a .p12 file that holds the key as well. */
  certificate: string
  key?: string | undefined
  /** Of the key, or of the .p12 file. */
  passphrase?: string | undefined
  wwdr?: string | undefined
}

/**
 * What the files hold, as it is kept. @throws OperatorError, SetupError
 * @param known the intermediate of before, where none is given
 */
export function readFiles(
  { certificate, key, passphrase, wwdr }: AppleFiles,
  known?: AppleCredentials['wwdr'],
): AppleSecrets {
  const pass = readPassFiles(
    { certificate: readSecret(certificate, '--certificate'), key: key === undefined ? key : readSecret(key, '--key') },
    passphrase,
  )
  const intermediate = wwdr === undefined ? known : readSecret(wwdr, '--wwdr')
  if (!intermediate) throw new OperatorError("Give Apple's intermediate certificate too: --wwdr (WWDR G4).")
  return {
    certificate: toPem(pass.certificate),
    key: toKeyPem(pass.key),
    wwdr: toPem(intermediate),
  }
}

/**
 * The signing identity of an Apple certificate that was given, with every check that a server makes when it starts.
 * @throws CredentialError
 */
export async function checkIdentity(credentials: AppleCredentials, at: Date): Promise<AppleIdentity> {
  const identity = parseAppleIdentity(credentials, at)
  // Loads the client of Apple push, which other commands do without.
  const { assertTakesPush } = await import('../../wallets/apple/push.ts')
  assertTakesPush(identity)
  return identity
}

/** What a key file of Google holds; null where there is none. @throws SetupError */
export function readKeyFile(keyFile: string | undefined): string | null {
  return keyFile === undefined ? null : readSecret(keyFile, '--key-file').pem.toString()
}

/** The same as certificates are checked, each with the file that it is from. */
export function credentialsOf(secrets: AppleSecrets, from: object): AppleCredentials {
  const files: Partial<AppleFiles> = from
  const of = (name: 'certificate' | 'key' | 'wwdr') => ({ source: files[name] ?? `--${name}`, pem: secrets[name] })
  return { certificate: of('certificate'), key: of('key'), wwdr: of('wwdr') }
}
