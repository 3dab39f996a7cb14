import { createHash } from 'node:crypto'
import { takeRandom } from '../../random.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A fresh scan code: 128 random bits as 26 characters of base32 (RFC 4648, no padding), of which the first holds three. */
export function newScanCode(): string {
  const [first, ...others] = takeRandom(26)
  return [first! & 7, ...others.map((byte) => byte & 31)].map((bits) => ALPHABET[bits]).join('')
}

/** What is stored of an identifier, and what a scan is looked up by. */
export function identifierDigest(identifier: string): Buffer {
  return createHash('sha256').update(identifier).digest()
}
