import type { AppleCredentials } from '../../wallets/apple/identity.ts'
import { readSecret } from '../boot/config.ts'
import { type AppleSecrets, toKeyPem, toPem } from '../identities/secrets.ts'
import { OperatorError } from './operator.ts'

/** The files of a certificate of Apple. */
export interface AppleFiles {
  certificate: string
  key: string
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
  const keySource = readSecret(key, '--key')
  const intermediate = wwdr === undefined ? known : readSecret(wwdr, '--wwdr')
  if (!intermediate) throw new OperatorError("Give Apple's intermediate certificate too: --wwdr (WWDR G4).")
  return {
    certificate: toPem(readSecret(certificate, '--certificate')),
    key: toKeyPem(keySource, passphrase),
    wwdr: toPem(intermediate),
  }
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
