import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities-repository.ts'
import { parseAppleIdentity } from '../../wallets/apple/apple-identity.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import { type Config, readSecret } from '../config.ts'
import { openText, readGoogleSigner, sealSecrets, storedCredentials } from '../identities/credentials.ts'
import { makeSandboxIssuer, makeSandboxPass } from '../identities/sandbox.ts'
import {
  type AppleFiles,
  auditIdentity,
  checkIdentity,
  credentialsOf,
  getForUpdate,
  getIdentity,
  type IdentityConfig,
  readFiles,
  readKeyFile,
  type ShownIdentity,
  show,
  withKeys,
} from './manage-identities.ts'
import { OperatorError, withStore } from './operator.ts'

export interface RenewedFrom {
  files?: AppleFiles | undefined
  keyFile?: string | undefined
}

/**
 * Stores a renewed certificate or key.
 * @throws OperatorError if the identity is not found, or the files are missing or of the wrong kind for the identity
 * @throws CredentialError if the files are invalid, or the pass type or team differs
 */
export async function renewIdentity(
  config: IdentityConfig,
  name: string,
  given: RenewedFrom & { at: Date },
): Promise<ShownIdentity> {
  return (await renew(config, name, given, () => false))!
}

/** Like renewIdentity, but writes nothing and returns undefined if the content is unchanged. */
export function renewIfNew(
  config: IdentityConfig,
  name: string,
  given: RenewedFrom & { at: Date },
): Promise<ShownIdentity | undefined> {
  return renew(config, name, given, (text, known, keys) => text === readSecrets(known, keys))
}

function assertRenewable(config: IdentityConfig, name: string, given: RenewedFrom): Promise<void> {
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
    throw new OperatorError(`${name} is a sandbox identity, which needs no files: run "passes identity renew ${name}"`)
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
  // Add the expected pass type and team, so that the error names them if the certificate is for another pass type or
  // team.
  const { certificate } = await checkIdentity({ ...credentialsOf(secrets, files), ...subject }, at)
  return { text: JSON.stringify(secrets), expiresAt: certificate.notAfter }
}

/**
 * Returns the stored WWDR certificate.
 * @throws OperatorError if it cannot be read: only a renewal with all files repairs the identity
 */
function knownIntermediate(known: StoredIdentity, keys: ServerKeys) {
  try {
    return storedCredentials(known, keys).wwdr
  } catch (cause) {
    const message = `The stored certificate of ${known.name} cannot be read with this server key: also give --wwdr.`
    throw new OperatorError(message, { cause })
  }
}

/** Returns the stored secrets; undefined if they cannot be read, so that any given content counts as new. */
function readSecrets(known: StoredIdentity, keys: ServerKeys): string | null | undefined {
  try {
    return openText(known, keys)
  } catch {
    return undefined
  }
}

export interface WatchIdentityOptions extends RenewedFrom {
  signal: AbortSignal
  /** Called before the first poll, if the identity exists and accepts files of this kind. */
  onWatching?: () => void
  onRenewed: (identity: ShownIdentity) => void
  /** Called if the files are rejected, once per content and reason. The current certificate stays in use. */
  onRejected: (reason: string) => void
  /** The poll interval. Default: a second, so that a change is checked one to two seconds after the last write. */
  checkMs?: number
}

const CHECK_MS = 1_000

/**
 * Renews an identity from its files, now and whenever a secret store rewrites them, until the signal aborts. Files are
 * checked only after two polls read the same content, because a secret store writes the files one after the other.
 * Rejected content is checked again when it changes. If the database does not respond, the next poll retries.
 * @throws OperatorError at the start, if the identity does not exist or does not accept files of this kind
 */
export async function watchIdentity(
  config: IdentityConfig,
  name: string,
  { files, keyFile, signal, onWatching, onRenewed, onRejected, checkMs = CHECK_MS }: WatchIdentityOptions,
): Promise<void> {
  await assertRenewable(config, name, { files, keyFile })
  onWatching?.()
  const paths = files ? [files.certificate, files.key, files.wwdr] : [keyFile]
  let [seen, checked, reported]: (string | undefined)[] = []
  while (!signal.aborted) {
    const found = contentOf(paths.filter((path) => path !== undefined))
    if (found === seen && found !== checked) {
      checked = found
      try {
        const renewed = await renewIfNew(config, name, { files, keyFile, at: new Date() })
        reported = undefined
        if (renewed) onRenewed(renewed)
      } catch (error) {
        if (!(error instanceof CredentialError)) checked = undefined
        const { message } = error as Error
        const rejection = `${found} ${message}`
        if (rejection !== reported) onRejected(message)
        reported = rejection
      }
    }
    seen = found
    await sleep(checkMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Returns a digest of the files, or the error message if a file cannot be read, for example while it is replaced. */
function contentOf(paths: string[]): string {
  try {
    return paths.map((path) => hash('sha256', readSecret(path, 'a file').pem)).join()
  } catch (error) {
    return (error as Error).message
  }
}
