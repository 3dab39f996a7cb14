import { z } from 'zod'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { isSealedUnder, seal, unlessLost, unseal } from '../../core/rules/crypto/server-key.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities.ts'
import {
  type AppleCredentials,
  type AppleIdentity,
  parseCertificate,
  readAppleIdentity,
  readKey,
} from '../../wallets/apple/identity.ts'
import type { KeylessOptions } from '../../wallets/google/api/keyless.ts'
import { type GoogleSigner, keylessConfiguration, parseGoogleIdentity } from '../../wallets/google/identity.ts'
import type { Logger } from '../log.ts'

/** What is sealed of an identity for Apple, all of it PEM: the key is not encrypted otherwise. */
export const AppleSecrets = z.object({ certificate: z.string(), key: z.string(), wwdr: z.string() })
export type AppleSecrets = z.output<typeof AppleSecrets>

/** The secrets of an identity as they are stored. */
export function sealSecrets(text: string, id: string, { current }: Pick<ServerKeys, 'current'>): string {
  return seal(text, id, current, 'identities')
}

/**
 * What signs for an identity of Apple. It may have expired.
 * @throws CredentialError, SealError
 */
export function openApple(stored: StoredIdentity, keys: ServerKeys): AppleIdentity {
  return readAppleIdentity(storedCredentials(stored, keys))
}

/** The certificate, key and intermediate of a stored identity of Apple. @throws SealError */
export function storedCredentials(stored: StoredIdentity, keys: ServerKeys): AppleCredentials {
  const { certificate, key, wwdr } = AppleSecrets.parse(JSON.parse(openText(stored, keys) ?? '{}'))
  const source = `the identity ${stored.name}`
  return { certificate: { source, pem: certificate }, key: { source, pem: key }, wwdr: { source, pem: wwdr } }
}

/**
 * Who writes for an identity of Google: the service account of its key, or the one that this machine has.
 * @throws CredentialError, SealError
 */
export async function openGoogle(stored: StoredIdentity, keys: ServerKeys): Promise<GoogleSigner> {
  return readGoogleSigner(`the identity ${stored.name}`, openText(stored, keys), stored.issuerId!)
}

/**
 * The service account of a key, of a configuration of workload identity, or without either of this machine.
 * @throws CredentialError
 */
export async function readGoogleSigner(source: string, json: string | null, issuerId: string): Promise<GoogleSigner> {
  if (json === null) return loadKeyless({ issuerId })
  const configuration = keylessConfiguration({ source, json })
  return configuration ? loadKeyless({ issuerId, configuration }) : parseGoogleIdentity({ source, json }, issuerId)
}

/** What is sealed of an identity; null where the machine has an account of its own. @throws SealError */
export function openText({ id, sealed }: StoredIdentity, { current, previous }: ServerKeys): string | null {
  return sealed === null ? null : unseal(sealed, id, [current, ...previous], 'identities')
}

/**
 * Encrypts whatever is not under the current key anew, so that previous keys can be taken out of use. One that none of the keys opens
 * stays as it is, and the log names it: its own passes alone have to wait until it is renewed.
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
          'the keys of an identity cannot be read: its passes wait until it is renewed',
        ),
    )
    if (renewed !== undefined) await store.transaction((tx) => tx.identities.replaceSealed(id, sealed, renewed))
  }
}

/** PEM of what may be DER. @throws CredentialError */
export function toPem(source: AppleCredentials['certificate']): string {
  return parseCertificate(source, 'certificate').toString()
}

/** A private key in PEM without its passphrase, since it is sealed otherwise. @throws CredentialError */
export function toKeyPem(key: AppleCredentials['key']): string {
  return readKey(key).export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Loads the module of keyless identities only when it is needed: it is slow to load, and a key file does not need it. */
export async function loadKeyless(options: KeylessOptions): Promise<GoogleSigner> {
  const { createKeylessIdentity } = await import('../../wallets/google/api/keyless.ts')
  return createKeylessIdentity(options)
}
