import { hash, randomInt } from 'node:crypto'

/**
 * Access tokens: `psk_`, 32 random base62 characters (190 bits), and a checksum of 6 characters. With the checksum, the
 * server rejects a mistyped token without a database read, and secret scanners recognize tokens.
 */

const PREFIX = 'psk_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^psk_[0-9A-Za-z]{38}$/

export function newToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return `${PREFIX}${random}${checksum(PREFIX + random)}`
}

/** Whether a text has the form and checksum of a token. The token need not exist. */
export function isWellFormedToken(text: string): boolean {
  return SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** Returns the SHA-256 of a token in hex. A slow hash is unnecessary: 190 random bits cannot be guessed. */
export function tokenDigest(token: string): string {
  return hash('sha256', token)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  while (rest > 0) {
    digits = ALPHABET[rest % ALPHABET.length] + digits
    rest = Math.floor(rest / ALPHABET.length)
  }
  return digits.padStart(CHECKSUM_LENGTH, '0')
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit += 1) remainder = remainder & 1 ? 0xedb88320 ^ (remainder >>> 1) : remainder >>> 1
  return remainder
})

/** Returns the CRC32 (as in zip) of ASCII text. A CRC32 detects every change within four adjacent characters. */
function crc32(text: string): number {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text, 'latin1')) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}
