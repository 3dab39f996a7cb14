import { hkdfSync, randomBytes } from 'node:crypto'
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

/** What a key protects. A purpose must never be renamed: everything made under it would be lost. */
export type KeyPurpose = 'links' | 'cursors' | 'webhook-secrets' | 'fingerprint'

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
