import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'

// Later than that there is no Date, and a key with an invalid one would never be seen to expire.
const LAST_MOMENT = 8.64e15

/** A moment in milliseconds since 1970, which Google writes as a number or as its digits. */
export const Millis = z.union([
  z.int().nonnegative().max(LAST_MOMENT),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
])

/** How Google names a key of its callbacks: the root keys and the intermediate one alike. */
export const SigningKeyJson = z.object({ keyValue: z.string().max(1024), keyExpiration: Millis })

export interface SigningKey {
  publicKey: KeyObject
  expiresAt: Date
}

/** undefined for anything but a public key on the curve P-256. */
export function parseSigningKey({ keyValue, keyExpiration }: z.output<typeof SigningKeyJson>): SigningKey | undefined {
  let publicKey: KeyObject
  try {
    publicKey = createPublicKey({ key: Buffer.from(keyValue, 'base64'), format: 'der', type: 'spki' })
  } catch {
    // Not a key at all: to the caller no different from one on another curve.
    return undefined
  }
  if (publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined
  return { publicKey, expiresAt: new Date(keyExpiration) }
}
