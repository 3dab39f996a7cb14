import { createHash, randomBytes } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const BITS = 128

/** A fresh scan code: 128 random bits as 26 characters of base32 (RFC 4648, no padding). */
export function newScanCode(): string {
  let number = BigInt(`0x${randomBytes(BITS / 8).toString('hex')}`)
  let code = ''
  for (let index = 0; index < Math.ceil(BITS / 5); index += 1) {
    code = ALPHABET[Number(number & 31n)] + code
    number >>= 5n
  }
  return code
}

/** What is stored of an identifier, and what a scan is looked up by. */
export function identifierDigest(identifier: string): Buffer {
  return createHash('sha256').update(identifier).digest()
}
