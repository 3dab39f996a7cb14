import { expect, expectTypeOf, test } from 'vitest'
import { verify, WebhookVerificationError } from '../../src/client/webhooks.ts'
import { sign } from '../../src/core/rules/crypto/signature.ts'

const secret = 'whsec_receiver'
const now = 1_767_225_600
const event = { id: '1', type: 'pass.voided', timestamp: '', correlationId: null, data: { id: '2', reason: null } }
const body = JSON.stringify(event)
const header = sign(body, [secret], new Date(now * 1000))

test('a valid delivery returns its event, from a string or bytes, with a header given once or as a list', () => {
  expect(verify(body, header, secret, { now })).toEqual(event)
  expect(verify(Buffer.from(body), header, secret, { now: new Date(now * 1000) })).toEqual(event)
  expect(verify(new TextEncoder().encode(body), [header], secret, { now })).toEqual(event)
  expect(verify(body, header.split(','), secret, { now })).toEqual(event)
})

test('the type of an event determines the type of its data', () => {
  const given = verify(body, header, secret, { now })
  if (given.type !== 'pass.voided') throw new Error(given.type)
  expectTypeOf(given.data.reason).toEqualTypeOf<string | null>()
  expectTypeOf(given.data.externalPassId).toEqualTypeOf<string>()
})

test('without a time, the current time decides', () => {
  expect(verify(body, sign(body, [secret], new Date()), secret)).toEqual(event)
  expect(() => verify(body, header, secret)).toThrow(WebhookVerificationError)
})

test.each([
  ['malformed_header', () => verify(body, undefined, secret, { now })],
  ['malformed_header', () => verify(body, null, secret, { now })],
  ['malformed_header', () => verify(body, [], secret, { now })],
  ['malformed_header', () => verify(body, [header, header], secret, { now })],
  ['wrong_secret', () => verify(body, header, 'whsec_other', { now })],
  ['body_changed', () => verify(JSON.stringify(event, undefined, 2), header, secret, { now })],
  ['too_old', () => verify(body, header, secret, { now: now + 301 })],
  ['too_old', () => verify(body, header, secret, { now: now + 11, toleranceSeconds: 10 })],
  ['too_new', () => verify(body, header, secret, { now: now - 301 })],
])('an untrusted delivery throws the reason %s and returns no event', (reason, call) => {
  expect(call).toThrow(WebhookVerificationError)
  expect(call).toThrow(expect.objectContaining({ name: 'WebhookVerificationError', reason }))
})

test.each([
  ['a parsed body', () => verify(event as never, header, secret, { now })],
  ['no secret', () => verify(body, header, undefined as never, { now })],
  ['an empty secret', () => verify(body, header, '', { now })],
  ['an invalid time', () => verify(body, header, secret, { now: Number.NaN })],
  ['an invalid date', () => verify(body, header, secret, { now: new Date('x') })],
  ['an invalid tolerance', () => verify(body, header, secret, { now, toleranceSeconds: Number.NaN })],
])('an invalid call is a TypeError and never valid: %s', (_, call) => {
  expect(call).toThrow(TypeError)
})

test('neither reason nor message holds the secret', () => {
  for (const text of ['{}', `${body}\n`, body]) {
    try {
      verify(text, header, 'whsec_planted', { now })
      expect.unreachable()
    } catch (error) {
      expect(`${(error as Error).stack}${JSON.stringify(error)}`).not.toContain('planted')
    }
  }
})
