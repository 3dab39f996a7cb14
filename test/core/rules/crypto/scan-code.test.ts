import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { identifierDigest, newScanCode } from '../../../../src/core/rules/crypto/scan-code.ts'

test('a scan code is 128 random bits in base32 and never repeats', () => {
  const codes = Array.from({ length: 2000 }, newScanCode)
  expect(new Set(codes).size).toBe(codes.length)
  for (const code of codes) expect(code).toMatch(/^[A-H][A-Z2-7]{25}$/)
  // Every letter of the alphabet occurs at every position except the first.
  for (let place = 1; place < 26; place += 1) expect(new Set(codes.map((code) => code[place])).size).toBe(32)
})

test('an identifier is looked up by the SHA-256 of its UTF-8', () => {
  expect(identifierDigest('é')).toEqual(createHash('sha256').update(Buffer.from('é')).digest())
})
