import { createHash } from 'node:crypto'
import { takeRandom } from '../../ids.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/**
 * Returns a scan code: 128 random bits as 26 characters of base32 (RFC 4648, without padding). The first character has
 * only three of the bits.
 */
export function newScanCode(): string {
  const [first, ...others] = takeRandom(26)
  return [first! & 7, ...others.map((byte) => byte & 31)].map((bits) => ALPHABET[bits]).join('')
}

export function identifierDigest(identifier: string): Buffer {
  return createHash('sha256').update(identifier).digest()
}
