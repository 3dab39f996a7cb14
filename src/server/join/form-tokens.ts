import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { parseUuid, takeRandom } from '../../core/ids.ts'
import { deriveKey, type ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { foldAddress } from '../../core/rules/join/join-form.ts'

/**
 * The token of a form: 16 random bytes, the time in 5 bytes, and 15 bytes of HMAC-SHA256, as 48 characters of
 * base64url. The externalPassId derives from the token, so that sending a form twice creates only one pass. The server
 * stores no tokens.
 */
const RANDOM_BYTES = 16
const FACTS_BYTES = RANDOM_BYTES + 5
const TAG_BYTES = 15
const SHAPE = /^[A-Za-z0-9_-]{48}$/

/** The time within which visitors must send a form. */
const MAX_AGE_MS = 24 * 3_600_000

export type FormTokens = ReturnType<typeof createFormTokens>

/** Accepts tokens of previous server keys. */
export function createFormTokens(keys: ServerKeys) {
  const accepted = [keys.current, ...keys.previous].map((key) => createSecretKey(deriveKey(key, 'join-forms')))
  const tagOf = (key: (typeof accepted)[number], templateId: string, facts: Uint8Array) =>
    createHmac('sha256', key).update(parseUuid(templateId)).update(facts).digest().subarray(0, TAG_BYTES)
  return {
    create(templateId: string, at: Date): string {
      const facts = Buffer.alloc(FACTS_BYTES)
      takeRandom(RANDOM_BYTES).copy(facts)
      facts.writeUIntBE(Math.floor(at.getTime() / 1000), RANDOM_BYTES, 5)
      return Buffer.concat([facts, tagOf(accepted[0]!, templateId, facts)]).toString('base64url')
    },
    /**
     * Derives the suffix of the externalPassId from a token. The reverse is not possible. Returns `undefined` if the
     * token is too old, or was not created for the page.
     */
    verify(token: string, templateId: string, at: Date): string | undefined {
      if (!SHAPE.test(token)) return undefined
      const bytes = Buffer.from(token, 'base64url')
      const facts = bytes.subarray(0, FACTS_BYTES)
      const tag = bytes.subarray(FACTS_BYTES)
      if (!accepted.some((key) => timingSafeEqual(tag, tagOf(key, templateId, facts)))) return undefined
      const age = at.getTime() - facts.readUIntBE(RANDOM_BYTES, 5) * 1000
      if (age > MAX_AGE_MS) return undefined
      const digest = createHash('sha256').update(parseUuid(templateId)).update(facts).digest()
      return digest.toString('base64url', 0, RANDOM_BYTES)
    },
  }
}

/**
 * Derives the suffix of an externalPassId from a random text and an email address, so that a visitor who goes back and
 * corrects the address gets another pass.
 */
export function endForAddress(random: string, address: string): string {
  const digest = createHash('sha256')
    .update(`${random} ${foldAddress(address)}`)
    .digest()
  return digest.toString('base64url', 0, RANDOM_BYTES)
}
