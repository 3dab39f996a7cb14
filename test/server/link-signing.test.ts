import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Link, linkExpiry, linkKinds, signLink, verifyLink } from '../../src/server/link-signing.ts'

const key = randomBytes(32)
const at = new Date('2026-03-01T12:00:00Z')
const later = (seconds: number) => new Date(at.getTime() + seconds * 1000)

const link: Link = {
  kind: 'smart',
  workspaceId: '018f2f5e-7c1a-7000-8000-0123456789ab',
  passId: '018f2f5e-7c1a-7000-bfff-ba9876543210',
  generation: 3,
  expiresAt: later(60),
}

const links = fc.record<Link>({
  kind: fc.constantFrom(...linkKinds),
  workspaceId: fc.uuid(),
  passId: fc.uuid(),
  generation: fc.nat(0xffffffff),
  expiresAt: fc.integer({ min: 1, max: 250_000_000_000 }).map(later),
})

test('reads back a signed link unchanged', () => {
  fc.assert(
    fc.property(links, (facts) => {
      const token = signLink(facts, key)
      expect(token).toMatch(/^[A-Za-z0-9_-]{80}$/)
      expect(verifyLink(token, [key], at)).toEqual({ ok: true, link: facts })
    }),
  )
})

test('rejects a token with one changed character', () => {
  const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. ']
  fc.assert(
    fc.property(links, fc.nat(79), fc.constantFrom(...alphabet), (facts, index, character) => {
      const token = signLink(facts, key)
      fc.pre(token[index] !== character)
      const decision = verifyLink(token.slice(0, index) + character + token.slice(index + 1), [key], at)
      expect(decision.ok).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test('rejects a link that another key signed', () => {
  fc.assert(
    fc.property(links, fc.uint8Array({ minLength: 32, maxLength: 32 }), (facts, other) => {
      expect(verifyLink(signLink(facts, key), [other], at)).toEqual({ ok: false, reason: 'tampered' })
    }),
  )
})

test('verifying a link never throws, for any text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String()), (text) => {
      expect(verifyLink(text, [key], at).ok).toBe(false)
    }),
  )
})

test('accepts links of the current and the previous key, and rejects those of a removed key', () => {
  const [current, previous, forgotten] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const decision = (signedWith: Buffer) => verifyLink(signLink(link, signedWith), [current, previous], at).ok
  expect([current, previous, forgotten].map(decision)).toEqual([true, true, false])
})

test('rejects every other spelling of a token', () => {
  const token = signLink(link, key)
  const bytes = Buffer.from(token, 'base64url')
  const spellings = [`${token}=`, `${token}==`, `${token}\n`, ` ${token}`, `${token}A`, token.slice(0, -1)]
  for (const spelling of spellings) {
    expect(verifyLink(spelling, [key], at)).toEqual({ ok: false, reason: 'malformed' })
  }
  expect(bytes.toString('base64url')).toBe(token)
})

test('a link works until its expiry and fails afterwards', () => {
  const token = signLink(link, key)
  expect(verifyLink(token, [key], new Date(link.expiresAt.getTime() - 1)).ok).toBe(true)
  expect(verifyLink(token, [key], link.expiresAt)).toEqual({ ok: false, reason: 'expired' })
})

test('an expired link of another key is reported as tampered, so that its content stays unknown', () => {
  expect(verifyLink(signLink(link, randomBytes(32)), [key], later(3600))).toEqual({ ok: false, reason: 'tampered' })
})

test('rounds an expiry up to the next second, never down', () => {
  const token = signLink({ ...link, expiresAt: new Date(at.getTime() + 1) }, key)
  expect(verifyLink(token, [key], new Date(at.getTime() + 500)).ok).toBe(true)
})

test.each([
  ['a pass without an expiry: 400 days', null, 400],
  ['a pass that expires tomorrow: 30 days', later(86_400), 30],
  ['a pass that expired long ago: 30 days', new Date(0), 30],
  ['a pass that expires in 500 days: until then', later(500 * 86_400), 500],
])('%s', (_, passExpiresAt, days) => {
  expect(linkExpiry(passExpiresAt, at)).toEqual(later(days * 86_400))
})

test('the link lifetime of a pass without an expiry can be configured', () => {
  expect(linkExpiry(null, at, 7)).toEqual(later(7 * 86_400))
})
