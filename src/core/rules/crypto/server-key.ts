import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { SetupError } from '../../errors.ts'

/** The one secret of an installation. Everything that needs a key gets a subkey of its own, so none can stand for another. */

const MIN_BYTES = 32
const HEX = /^(?:[0-9a-f]{2})+$/i
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const HOW_TO_MAKE_ONE = 'Make one with: openssl rand -hex 32'

/** A server key that cannot be used. The message never holds any of the key. */
export class ServerKeyError extends SetupError {
  override readonly name = 'ServerKeyError'
}

/** The keys that seal secrets and sign links. */
export interface ServerKeys {
  current: Buffer
  /** The keys of earlier rotations. What they protect is still accepted. */
  previous: Buffer[]
}

/** What a key protects. A purpose must never be renamed: everything made under it would be lost. */
export type KeyPurpose = 'links' | 'cursors' | SecretPurpose | 'fingerprint'

/** What is sealed at rest. */
export type SecretPurpose = 'webhook-secrets' | 'identities'

/** A fresh key: 32 random bytes as base64url. */
export function newServerKey(): string {
  return randomBytes(MIN_BYTES).toString('base64url')
}

/**
 * Reads a key of 32 or more bytes, as hex or base64url (plain base64 is taken too). White space around it is ignored.
 * @throws ServerKeyError
 */
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

/** The subkey for one purpose: 32 bytes, always the same for the same key. */
export function deriveKey(serverKey: Uint8Array, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', serverKey, new Uint8Array(), `passes/${purpose}`, 32))
}

/** Tells two server keys apart and reveals nothing of either: 16 hex characters, fit to be stored and shown. */
export function fingerprint(serverKey: Uint8Array): string {
  return deriveKey(serverKey, 'fingerprint').toString('hex', 0, 8)
}

/** Secrets at rest: AES-256-GCM under a subkey of the server key, bound to the row that they belong to. */

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A sealed secret that none of the server keys opens: a key was lost, or the row was tampered with. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

/** `<fingerprint of the server key>:<nonce, tag and ciphertext>`. */
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

/** The secret that was sealed for a row, with whichever of the keys sealed it. @throws SealError */
export function unseal(
  sealed: string,
  rowId: string,
  serverKeys: readonly Uint8Array[],
  purpose: SecretPurpose = 'webhook-secrets',
): string {
  const [madeWith, content = ''] = sealed.split(':')
  const serverKey = serverKeys.find((key) => fingerprint(key) === madeWith)
  if (!serverKey) {
    throw new SealError('A secret was encrypted with another server key; name it in PASSES_PREVIOUS_SERVER_KEYS.')
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
    throw new SealError('A secret was changed since it was encrypted, or belongs to another row.', { cause: error })
  }
}

/** True where the secret was sealed under this key. */
export function isSealedUnder(sealed: string, serverKey: Uint8Array): boolean {
  return sealed.startsWith(`${fingerprint(serverKey)}:`)
}

/** What work gives that opens secrets; undefined where none of the keys opens one, which is told. Other errors are thrown. */
export function unlessLost<T>(work: () => T, tell: (error: SealError) => void): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    tell(error)
    return undefined
  }
}
