import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities.ts'
import { parseAppleIdentity } from '../../wallets/apple/identity.ts'
import { makeSandboxIssuer, makeSandboxPass } from '../boot/sandbox.ts'
import type { Config } from '../config.ts'
import { openText, readGoogleSigner, sealSecrets, storedCredentials } from '../identities/secrets.ts'
import {
  auditIdentity,
  getForUpdate,
  getIdentity,
  type IdentityConfig,
  type ShownIdentity,
  show,
  withKeys,
} from './identities.ts'
import { type AppleFiles, checkIdentity, credentialsOf, readFiles, readKeyFile } from './identity-files.ts'
import { OperatorError, withStore } from './operator.ts'

/** What an identity is renewed from: the files of a certificate, or the key file of an account. */
export interface RenewedFrom {
  files?: AppleFiles | undefined
  keyFile?: string | undefined
}

/**
 * Takes the renewed certificate, or another key for the same issuer. Servers sign and push with it within seconds.
 * @throws OperatorError, CredentialError for one that is not of the same pass type and team
 */
export async function renewIdentity(
  config: IdentityConfig,
  name: string,
  given: RenewedFrom & { at: Date },
): Promise<ShownIdentity> {
  return (await renew(config, name, given, () => false))!
}

/** The same, but where it has what is given already: undefined then, and nothing is written. @throws as renewIdentity */
export function renewIfNew(
  config: IdentityConfig,
  name: string,
  given: RenewedFrom & { at: Date },
): Promise<ShownIdentity | undefined> {
  return renew(config, name, given, (text, known, keys) => text === readSecrets(known, keys))
}

/** That there is an identity which takes files like these. @throws OperatorError */
export function assertRenewable(config: IdentityConfig, name: string, given: RenewedFrom): Promise<void> {
  return withStore(config.databaseUrl, async (store) => assertFits(await getIdentity(store, name), given))
}

function renew(
  config: IdentityConfig,
  name: string,
  given: RenewedFrom & { at: Date },
  isSame: (text: string | null, known: StoredIdentity, keys: ServerKeys) => boolean,
): Promise<ShownIdentity | undefined> {
  const { at } = given
  return withKeys(config, async (store, keys) => {
    const known = await getIdentity(store, name)
    const { id } = known
    assertFits(known, given)
    const { text, expiresAt } = await renewed(config, known, { ...given, keys })
    if (isSame(text, known, keys)) return undefined
    return store.transaction(async (tx) => {
      await getForUpdate(tx, name)
      await tx.identities.update(id, { sealed: text === null ? null : sealSecrets(text, id, keys), expiresAt }, at)
      await auditIdentity(tx, known, 'identity.renew', at)
      return show(tx, (await tx.identities.findForUpdate(name))!)
    })
  })
}

function assertFits({ name, platform, isSandbox }: StoredIdentity, { files, keyFile }: RenewedFrom): void {
  if (isSandbox && (files || keyFile !== undefined)) {
    throw new OperatorError(`${name} is of the sandbox, which makes its own: passes identity renew ${name}`)
  }
  if (platform === 'google' && files) {
    throw new OperatorError(`${name} is an identity of Google: give its --key-file.`)
  }
  if (platform === 'apple' && keyFile !== undefined) {
    throw new OperatorError(`${name} is an identity of Apple: give its --certificate and --key.`)
  }
}

async function renewed(
  config: IdentityConfig,
  known: StoredIdentity,
  { files, keyFile, keys, at }: RenewedFrom & { keys: ServerKeys; at: Date },
): Promise<{ text: string | null; expiresAt: Date | null }> {
  if (known.platform === 'google') {
    const text = known.isSandbox ? await makeSandboxIssuer(config as Config, known.issuerId!) : readKeyFile(keyFile)
    await readGoogleSigner(keyFile ?? '--key-file', text, known.issuerId!)
    return { text, expiresAt: null }
  }
  const subject = { passTypeIdentifier: known.passTypeIdentifier!, teamIdentifier: known.teamIdentifier! }
  if (known.isSandbox) {
    const secrets = await makeSandboxPass(config as Config, subject, at)
    return {
      text: JSON.stringify(secrets),
      expiresAt: parseAppleIdentity(credentialsOf(secrets, {}), at).certificate.notAfter,
    }
  }
  if (!files) throw new OperatorError('Give the renewed certificate and its key: --certificate and --key.')
  const secrets = readFiles(files, files.wwdr === undefined ? knownIntermediate(known, keys) : undefined)
  // Another pass type or team is named with the one that it should be.
  const { certificate } = await checkIdentity({ ...credentialsOf(secrets, files), ...subject }, at)
  return { text: JSON.stringify(secrets), expiresAt: certificate.notAfter }
}

/** Where what was kept cannot be read any more, a renewal with all of its files mends it. */
function knownIntermediate(known: StoredIdentity, keys: ServerKeys) {
  try {
    return storedCredentials(known, keys).wwdr
  } catch (cause) {
    const message = `What is kept of ${known.name} cannot be read with this server key: give --wwdr too.`
    throw new OperatorError(message, { cause })
  }
}

/** Undefined for what cannot be read: it is like nothing. */
function readSecrets(known: StoredIdentity, keys: ServerKeys): string | null | undefined {
  try {
    return openText(known, keys)
  } catch {
    return undefined
  }
}
