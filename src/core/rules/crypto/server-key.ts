import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { SetupError } from '../../errors.ts'

/**
 * The server key is the single secret of an installation. Each purpose has its own subkey, so that no subkey can be
 * used for another purpose.
 */

const MIN_BYTES = 32
const HEX = /^(?:[0-9a-f]{2})+$/i
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const HOW_TO_MAKE_ONE = 'Create one with: openssl rand -hex 32'

/** The message never contains any part of the key. */
export class ServerKeyError extends SetupError {
  override readonly name = 'ServerKeyError'
}

export interface ServerKeys {
  current: Buffer
  /** The server keys that rotations replaced. Secrets and links that were made with them are still valid. */
  previous: Buffer[]
}

/** The purpose of a subkey. Never rename a purpose: all secrets and links made with its subkey would become invalid. */
export type KeyPurpose = 'links' | 'cursors' | 'join-forms' | SecretPurpose | 'fingerprint'

export type SecretPurpose = 'webhook-secrets' | 'identities' | 'sign-ins'

/** Returns a new server key: 32 random bytes as base64url. */
export function newServerKey(): string {
  return randomBytes(MIN_BYTES).toString('base64url')
}

/** Parses a server key of at least 32 bytes in hex, base64url, or base64. @throws ServerKeyError */
export function parseServerKey(text: string): Buffer {
  const trimmed = text.trim()
  if (trimmed === '') throw new ServerKeyError(`The server key is empty. ${HOW_TO_MAKE_ONE}`)
  if (!BASE64.test(trimmed)) {
    throw new ServerKeyError(`The server key is neither hex nor base64url. ${HOW_TO_MAKE_ONE}`)
  }
  const key = Buffer.from(trimmed, HEX.test(trimmed) ? 'hex' : 'base64url')
  if (key.length < MIN_BYTES) {
    throw new ServerKeyError(
      `The server key has ${key.length} bytes and must have at least ${MIN_BYTES}. ${HOW_TO_MAKE_ONE}`,
    )
  }
  return key
}

/** Returns the 32-byte subkey of a server key for a purpose. The same key and purpose always give the same subkey. */
export function deriveKey(serverKey: Uint8Array, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', serverKey, new Uint8Array(), `passes/${purpose}`, 32))
}

/** Returns 16 hex characters that identify a server key and reveal nothing about it. */
export function fingerprint(serverKey: Uint8Array): string {
  return deriveKey(serverKey, 'fingerprint').toString('hex', 0, 8)
}

/** Secrets are stored encrypted: AES-256-GCM with a subkey of the server key, bound to the ID of their row. */

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** An encrypted secret that no known server key decrypts: a key is missing, or the row was modified. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

/** Encrypts the secret of a row. Returns `<fingerprint of the server key>:<nonce, tag, and ciphertext>`. */
export function seal(
  secret: string,
  rowId: string,
  serverKey: Uint8Array,
  purpose: SecretPurpose = 'webhook-secrets',
): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey(serverKey, purpose), nonce)
  cipher.setAAD(Buffer.from(rowId))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return `${fingerprint(serverKey)}:${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')}`
}

/** Decrypts the secret of a row with the server key that encrypted it. @throws SealError */
export function unseal(
  sealed: string,
  rowId: string,
  serverKeys: readonly Uint8Array[],
  purpose: SecretPurpose = 'webhook-secrets',
): string {
  const [madeWith, content = ''] = sealed.split(':')
  const serverKey = serverKeys.find((key) => fingerprint(key) === madeWith)
  if (!serverKey) {
    throw new SealError('A secret was encrypted with another server key. Add that key to PASSES_PREVIOUS_SERVER_KEYS.')
  }
  const bytes = Buffer.from(content, 'base64url')
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv(CIPHER, deriveKey(serverKey, purpose), nonce, {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(rowId))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch (error) {
    throw new SealError('A secret was modified after it was encrypted, or belongs to another row.', { cause: error })
  }
}

export function isSealedUnder(sealed: string, serverKey: Uint8Array): boolean {
  return sealed.startsWith(`${fingerprint(serverKey)}:`)
}

/** Returns the result of `work`. If no key decrypts a secret in `work`, calls `onLost` and returns `undefined`. */
export function unlessLost<T>(work: () => T, onLost: (error: SealError) => void): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    onLost(error)
    return undefined
  }
}
