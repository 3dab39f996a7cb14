import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { isSealedUnder, SealError, seal, unseal } from '../../../../src/core/rules/crypto/server-key.ts'

const [key, other] = [randomBytes(32), randomBytes(32)]
const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const secret = 'whsec_correct-horse'

test('a sealed secret opens under its key, now or previous, and is never the same twice', () => {
  const sealed = seal(secret, id, key)
  expect(unseal(sealed, id, [key])).toBe(secret)
  expect(unseal(sealed, id, [other, key])).toBe(secret)
  expect(seal(secret, id, key)).not.toBe(sealed)
  expect(sealed).not.toContain(secret)
  expect([isSealedUnder(sealed, key), isSealedUnder(sealed, other)]).toEqual([true, false])
})

test('does not open with another key or for another row', () => {
  const sealed = seal(secret, id, key)
  expect(() => unseal(sealed, id, [other])).toThrow(/PASSES_PREVIOUS_SERVER_KEYS/)
  expect(() => unseal(sealed, `${id.slice(0, -1)}c`, [key])).toThrow(SealError)
})

test('detects any change of a sealed secret, and errors contain no part of it', () => {
  const sealed = seal(secret, id, key)
  const [fingerprint, content] = sealed.split(':') as [string, string]
  const bytes = Buffer.from(content, 'base64url')
  for (let index = 0; index < bytes.length; index += 1) {
    const changed = Buffer.from(bytes)
    changed[index]! ^= 1
    let message = ''
    try {
      unseal(`${fingerprint}:${changed.toString('base64url')}`, id, [key])
    } catch (error) {
      expect(error).toBeInstanceOf(SealError)
      message = (error as Error).message
    }
    expect(message).not.toBe('')
    expect(message).not.toContain(content.slice(0, 8))
  }
  for (const cut of ['', fingerprint, `${fingerprint}:`, `${fingerprint}:${content.slice(0, 20)}`, `:${content}`]) {
    expect(() => unseal(cut, id, [key]), cut).toThrow(SealError)
  }
})
