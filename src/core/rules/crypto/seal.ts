import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey, fingerprint } from './server-key.ts'

/** Secrets at rest: AES-256-GCM under a subkey of the server key, bound to the row that they belong to. */

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A sealed secret that none of the server keys opens: a key was lost, or the row was tampered with. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

/** `<fingerprint of the server key>:<nonce, tag and ciphertext>`. */
export function seal(secret: string, rowId: string, serverKey: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey(serverKey, 'webhook-secrets'), nonce)
  cipher.setAAD(Buffer.from(rowId))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return `${fingerprint(serverKey)}:${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')}`
}

/** @throws SealError */
export function unseal(sealed: string, rowId: string, serverKeys: readonly Uint8Array[]): string {
  const [madeWith, content = ''] = sealed.split(':')
  const serverKey = serverKeys.find((key) => fingerprint(key) === madeWith)
  if (!serverKey) {
    throw new SealError('A secret was encrypted with another server key; name it in PASSES_PREVIOUS_SERVER_KEYS.')
  }
  const bytes = Buffer.from(content, 'base64url')
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv(CIPHER, deriveKey(serverKey, 'webhook-secrets'), nonce, {
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
