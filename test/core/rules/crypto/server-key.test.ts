import { hkdfSync } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  deriveKey,
  fingerprint,
  newServerKey,
  parseServerKey,
  ServerKeyError,
} from '../../../../src/core/rules/crypto/server-key.ts'

const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7))

test('a new key is read back as 32 bytes and is never the same twice', () => {
  const keys = [newServerKey(), newServerKey()]
  expect(keys.map((key) => parseServerKey(key).length)).toEqual([32, 32])
  expect(keys[0]).not.toBe(keys[1])
})

test.each([
  ['hex', bytes.toString('hex')],
  ['upper-case hex', bytes.toString('hex').toUpperCase()],
  ['base64url', bytes.toString('base64url')],
  ['padded base64', bytes.toString('base64')],
  ['hex with a line break', `${bytes.toString('hex')}\n`],
])('a key written as %s is the same key', (_, text) => {
  expect(parseServerKey(text)).toEqual(bytes)
})

test.each([
  ['', /empty/],
  ['   \n', /empty/],
  ['correct horse battery staple, correct horse battery staple', /neither hex nor base64url/],
  ['00'.repeat(31), /has 31 bytes and must have at least 32/],
  ['c2hvcnQ', /has 5 bytes and must have at least 32/],
])('rejects the key %j with advice', (text, reason) => {
  const attempt = () => parseServerKey(text)
  expect(attempt).toThrow(ServerKeyError)
  expect(attempt).toThrow(reason)
  expect(attempt).toThrow('openssl rand -hex 32')
})

test('the error never repeats the key', () => {
  const secret = 'hunter2hunter2'
  expect(() => parseServerKey(secret)).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining(secret) }),
  )
})

test('each purpose has its own stable subkey', () => {
  const subkeys = (['links', 'webhook-secrets', 'fingerprint'] as const).map((purpose) => deriveKey(bytes, purpose))
  expect(new Set(subkeys.map((key) => key.toString('hex'))).size).toBe(3)
  expect(deriveKey(bytes, 'links')).toEqual(subkeys[0])
  expect(subkeys[0]).toEqual(Buffer.from(hkdfSync('sha256', bytes, '', 'passes/links', 32)))
})

test('the fingerprint identifies a key and reveals nothing of it or of its subkeys', () => {
  const print = fingerprint(bytes)
  expect(print).toMatch(/^[0-9a-f]{16}$/)
  expect(fingerprint(Buffer.alloc(32))).not.toBe(print)
  for (const secret of [bytes, deriveKey(bytes, 'links'), deriveKey(bytes, 'webhook-secrets')]) {
    expect(secret.toString('hex')).not.toContain(print)
  }
})
