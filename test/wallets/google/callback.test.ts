import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callback, changed, decisionOf, HOUR, later, makeKey, message, rootKey } from './callback-samples.ts'

const other = makeKey()

test.each(['save', 'del', 'activate'] as const)(
  'accepts a %s that Google signed, and returns only known fields',
  (eventType) => {
    expect(decisionOf(callback({ message: { eventType } }))).toEqual({ ok: true, message: { ...message, eventType } })
  },
)

test('verifies the signed texts as received, including escapes', () => {
  const body = JSON.parse(JSON.stringify(callback()))
  expect(body.intermediateSigningKey.signedKey).toContain('\\u003d')
  expect(decisionOf(body)).toMatchObject({ ok: true })
})

test.each([
  ['one of several root keys', callback(), { rootKeys: [rootKey(other.publicKey), rootKey()] }],
  ['an expiry written in digits', callback({ message: { expTimeMillis: String(message.expTimeMillis) } }), {}],
  ['an expiry of the key written as a number', callback({ keyExpiration: later(HOUR).getTime() }), {}],
  ['a text beyond ASCII, whose length counts in bytes', callback({ message: { nonce: 'é😀' } }), {}],
  [
    'an additional signature of an unknown key',
    changed((body) =>
      body.intermediateSigningKey.signatures.unshift(
        callback({ rootPrivateKey: other.privateKey }).intermediateSigningKey.signatures[0]!,
      ),
    ),
    {},
  ],
])('accepts %s', (_, body, facts) => {
  expect(decisionOf(body, facts)).toMatchObject({ ok: true })
})

test('accepts a callback until its message, key, or root expires', () => {
  const before = { at: later(HOUR - 1) }
  expect(decisionOf(callback(), before)).toMatchObject({ ok: true })
  expect(decisionOf(callback({ message: { expTimeMillis: later(2 * HOUR).getTime() } }), { at: later(HOUR) })).toEqual({
    ok: false,
    reason: 'expired intermediate key',
  })
})

test('rejects invalid bodies without throwing', () => {
  const shaped = fc.record({
    protocolVersion: fc.constantFrom('ECv2SigningOnly', 'ECv2SigningOnly', 'x'),
    signature: fc.oneof(fc.base64String(), fc.string({ unit: 'binary' })),
    intermediateSigningKey: fc.record({
      signedKey: fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
      signatures: fc.array(fc.oneof(fc.base64String(), fc.string()), { maxLength: 3 }),
    }),
    signedMessage: fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
  })
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.jsonValue(), shaped), (body) => {
      expect(decisionOf(body)).toMatchObject({ ok: false })
    }),
  )
})

test('rejects other content that a root key signed, without throwing', () => {
  const keys = fc.oneof(
    fc.json(),
    fc.string(),
    fc.record({ keyValue: fc.base64String(), keyExpiration: fc.nat() }).map((key) => JSON.stringify(key)),
  )
  fc.assert(
    fc.property(keys, (signedKey) => {
      expect(decisionOf(callback({ signedKey }))).toEqual({ ok: false, reason: 'malformed intermediate key' })
    }),
  )
})

test('rejects each change of one character in the signed texts', () => {
  const body = callback()
  const where = fc.constantFrom('signedMessage', 'signedKey')
  fc.assert(
    fc.property(where, fc.nat(), fc.string({ minLength: 1, maxLength: 1 }), (key, position, character) => {
      const text = key === 'signedKey' ? body.intermediateSigningKey.signedKey : body.signedMessage
      const index = position % text.length
      fc.pre(text[index] !== character)
      const tampered = text.slice(0, index) + character + text.slice(index + 1)
      const sent =
        key === 'signedKey'
          ? { ...body, intermediateSigningKey: { ...body.intermediateSigningKey, signedKey: tampered } }
          : { ...body, signedMessage: tampered }
      expect(decisionOf(sent)).toMatchObject({ ok: false })
    }),
  )
})
