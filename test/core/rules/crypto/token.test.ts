import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isWellFormedToken, newToken, tokenDigest } from '../../../../src/core/rules/crypto/token.ts'

test('a new token is well-formed and never the same twice', () => {
  const tokens = Array.from({ length: 500 }, newToken)
  for (const token of tokens) {
    expect(token).toMatch(/^psk_[0-9A-Za-z]{38}$/)
    expect(isWellFormedToken(token)).toBe(true)
  }
  expect(new Set(tokens).size).toBe(tokens.length)
})

test('the checksum is the CRC32 of what comes before it, so other programs can compute it', () => {
  // The checksum was computed with zlib: crc32(b"psk_" + b"0" * 32) = 0xc32eecf.
  expect(isWellFormedToken(`psk_${'0'.repeat(32)}0Dqka0`)).toBe(false)
  expect(isWellFormedToken(`psk_${'0'.repeat(32)}0Dqkal`)).toBe(true)
})

test('rejects a token with one changed character', () => {
  const property = fc.property(
    fc.constant(0).map(newToken),
    fc.nat(41),
    fc.string({ minLength: 1, maxLength: 1 }),
    (token, index, character) => {
      fc.pre(token[index] !== character)
      expect(isWellFormedToken(token.slice(0, index) + character + token.slice(index + 1))).toBe(false)
    },
  )
  fc.assert(property, { numRuns: 2000 })
})

test('rejects every single-character change within the alphabet', () => {
  const token = newToken()
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_'
  let accepted = 0
  for (let index = 0; index < token.length; index += 1) {
    for (const character of alphabet) {
      if (isWellFormedToken(token.slice(0, index) + character + token.slice(index + 1))) accepted += 1
    }
  }
  // At each position, only the original character is accepted.
  expect(accepted).toBe(token.length)
})

test.each(['', 'psk_', ' ', 'Bearer x', `psk_${'a'.repeat(37)}`, `psk_${'é'.repeat(38)}`])(
  'rejects the token %j',
  (text) => {
    expect(isWellFormedToken(text)).toBe(false)
  },
)

test('rejects a token with surrounding white space or a line break', () => {
  const token = newToken()
  expect([` ${token}`, `${token} `, `${token}\n`].map(isWellFormedToken)).toEqual([false, false, false])
})

test('the digest is the SHA-256 of the token in hex', () => {
  expect(tokenDigest('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
