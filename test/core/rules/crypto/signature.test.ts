import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sign, verify } from '../../../../src/core/rules/crypto/signature.ts'

const secret = 'whsec_3f9a1c5e7b2d4f6081a3c5e7092b4d6f'
const t = 1_767_225_600
const at = new Date(t * 1000)
const event = {
  id: '0198c7a5-2b6e-7f0a-8c1d-94e3f5a6b7c8',
  type: 'pass.issued',
  timestamp: '2026-01-01T00:00:00.000Z',
  correlationId: null,
  data: { externalPassId: 'T-1', variables: { name: 'Zoë 🎫', seat: '12/A' }, count: 7 },
}
const body = JSON.stringify(event)
const v1 = hmac(`${t}.${body}`)

test('a signature is the time and the hexadecimal HMAC-SHA256 of time, dot and body under the whole secret', () => {
  expect(sign(body, [secret], at)).toBe(`t=${t},v1=${v1}`)
  expect(sign(Buffer.from(body), [secret], new Date(t * 1000 + 999))).toBe(`t=${t},v1=${v1}`)
})

test('during a rotation, receivers with the new and the old secret accept the header; others do not', () => {
  const header = sign(body, ['whsec_new', 'whsec_old'], at)
  expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
  for (const key of ['whsec_new', 'whsec_old']) expect(verify(body, header, key, { at })).toMatchObject({ ok: true })
  expect(verify(body, header, 'whsec_older', { at })).toMatchObject({ ok: false, reason: 'wrong_secret' })
  const after = sign(body, ['whsec_new'], at)
  expect(verify(body, after, 'whsec_old', { at })).toMatchObject({ ok: false, reason: 'wrong_secret' })
})

const other = 'ab'.repeat(32)

const goodHeaders: [what: string, header: string][] = [
  ['unchanged', `t=${t},v1=${v1}`],
  ['in reverse order', `v1=${v1},t=${t}`],
  ['a foreign v1 before', `t=${t},v1=${other},v1=${v1}`],
  ['a foreign v1 after', `t=${t},v1=${v1},v1=${other}`],
  ['the same v1 twice', `t=${t},v1=${v1},v1=${v1}`],
  ['ten foreign v1', `t=${t}${`,v1=${other}`.repeat(10)},v1=${v1}`],
  ['an element of another version', `t=${t},v0=6ffbb59b,v1=${v1},v2=later`],
  ['an empty element of another name', `t=${t},v1=${v1},x=`],
  ['spaces around the elements, as proxies join them', ` t=${t}, v1=${v1} ,\tv1=${other}`],
  ['capital hexadecimal digits', `t=${t},v1=${v1.toUpperCase()}`],
]

test.each(goodHeaders)('accepts a header: %s', (_, header) => {
  expect(verify(body, header, secret, { at })).toEqual({ ok: true, signedAt: at })
})

const malformedHeaders: [header: string, problem: string][] = [
  ['', 'is missing'],
  [' ', 'pairs'],
  [',', 'pairs'],
  [v1, 'pairs'],
  [`t:${t},v1:${v1}`, 'pairs'],
  [`t=${t},v1=${v1},`, 'pairs'],
  [`t=${t};v1=${v1}`, 'a t that is not a time'],
  [`t=${t} v1=${v1}`, 'a t that is not a time'],
  [`v1=${v1}`, 'has no t'],
  [`T=${t},v1=${v1}`, 'has no t'],
  [`t=${t},t=${t},v1=${v1}`, 'more than one t'],
  [`t=${t},t=0,v1=${v1}`, 'more than one t'],
  [`t=,v1=${v1}`, 'a t that is not a time'],
  [`t=now,v1=${v1}`, 'a t that is not a time'],
  [`t=-${t},v1=${v1}`, 'a t that is not a time'],
  [`t=+${t},v1=${v1}`, 'a t that is not a time'],
  [`t=0${t},v1=${v1}`, 'a t that is not a time'],
  [`t=${t}.0,v1=${v1}`, 'a t that is not a time'],
  [`t=${t}000000,v1=${v1}`, 'a t that is not a time'],
  [`t=1.7e9,v1=${v1}`, 'a t that is not a time'],
  [`t=0x695588c0,v1=${v1}`, 'a t that is not a time'],
  ['t=１７６７２２５６００,v1='.concat(v1), 'a t that is not a time'],
  [`t=${t}`, 'has no v1'],
  [`t=${t},v0=${v1}`, 'has no v1'],
  [`t=${t},V1=${v1}`, 'has no v1'],
  [`t=${t},v1=`, '64 hexadecimal'],
  [`t=${t},v1=${v1.slice(1)}`, '64 hexadecimal'],
  [`t=${t},v1=${v1}0`, '64 hexadecimal'],
  [`t=${t},v1=${'g'.repeat(64)}`, '64 hexadecimal'],
  [`t=${t},v1=${Buffer.from(v1, 'hex').toString('base64')}`, '64 hexadecimal'],
  [`t=${t},v1="${v1}"`, '64 hexadecimal'],
  [`t=${t},v1=${v1},v1=x`, '64 hexadecimal'],
  [`t=${t},v1=${v1}${`,v1=${other}`.repeat(40)}`, 'too long'],
  [`X-Service-Signature: t=${t},v1=${v1}`, 'pairs'],
]

test.each(malformedHeaders)('rejects the header %j as malformed', (header, problem) => {
  const decision = verify(body, header, secret, { at })
  expect(decision).toMatchObject({
    ok: false,
    reason: 'malformed_header',
    message: expect.stringContaining(problem),
    hint: expect.stringContaining('t=1767225600,v1='),
  })
})

describe('detects changes', () => {
  const header = sign(body, [secret], at)
  const sorted = Object.fromEntries(Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1)))
  const changed: [what: string, sent: string | Buffer, words: string][] = [
    ['indented', JSON.stringify(event, undefined, 2), 'serialized again'],
    ['spaced as Python does, and escaped', escaped(spaced(body)), 'serialized again'],
    ['escaped', escaped(body), 'serialized again'],
    ['slashes escaped', body.replaceAll('/', '\\/'), 'serialized again'],
    ['parsed and printed with a newline', `${JSON.stringify(event, undefined, 2)}\n`, 'serialized again'],
    ['a newline at the end', `${body}\n`, 'newline'],
    ['a DOS newline at the end', `${body}\r\n`, 'newline'],
    ['a byte order mark', `\uFEFF${body}`, 'byte order mark'],
    ['a JSON string of it', JSON.stringify(body), 'JSON string'],
    ['read as Latin-1', Buffer.from(body, 'utf8').toString('latin1'), 'Latin-1'],
    ['another number of blanks, and another value', JSON.stringify({ ...event, type: 'x' }, null, 1), 'compact JSON'],
    ['an object as text', '[object Object]', 'compact JSON'],
    ['nothing', '', 'it is empty'],
    ['cut off', body.slice(0, -1), 'compact JSON'],
  ]

  test.each(changed)('%s', (_, sent, words) => {
    const decision = verify(sent, header, secret, { at })
    expect(decision).toMatchObject({ ok: false, reason: 'body_changed', message: expect.stringContaining(words) })
    expect(decision).toHaveProperty('hint', expect.stringContaining('raw bytes'))
  })

  const wrong: [what: string, sent: string, key: string, words: string][] = [
    ['the secret of another endpoint', body, 'whsec_other', 'belongs to another endpoint'],
    ['no secret at all', body, '', 'belongs to another endpoint'],
    ['the secret without whsec_', body, secret.slice(6), 'differs from the issued secret'],
    ['the secret with a newline', body, `${secret}\n`, 'differs from the issued secret'],
    ['the secret with a blank and without whsec_', body, ` ${secret.slice(6)}`, 'differs from the issued secret'],
    ['a body whose order of keys changed', JSON.stringify(sorted), secret, 'belongs to another endpoint'],
    ['another content', body.replace('T-1', 'T-2'), secret, 'belongs to another endpoint'],
  ]

  test.each(wrong)('%s', (_, sent, key, words) => {
    const decision = verify(sent, header, key, { at })
    expect(decision).toMatchObject({ ok: false, reason: 'wrong_secret', message: expect.stringContaining(words) })
  })

  test('a time other than the signed one does not match, even if it is current', () => {
    const moved = header.replace(String(t), String(t + 1))
    expect(verify(body, moved, secret, { at })).toMatchObject({ ok: false, reason: 'wrong_secret' })
  })
})

const window: [seconds: number, decision: object][] = [
  [0, { ok: true }],
  [300, { ok: true }],
  [-300, { ok: true }],
  [301, { ok: false, reason: 'too_old', message: expect.stringContaining('301 s old') }],
  [-301, { ok: false, reason: 'too_new', message: expect.stringContaining('301 s in the future') }],
  [86_400, { ok: false, reason: 'too_old' }],
  [Number.NaN, { ok: false }],
]

test.each(window)('a receiver whose clock is %d s past the signature: %j', (seconds, decision) => {
  const now = new Date((t + seconds) * 1000)
  expect(verify(body, `t=${t},v1=${v1}`, secret, { at: now })).toMatchObject(decision)
})

test('without tolerance, only the second of signing is accepted', () => {
  const header = `t=${t},v1=${v1}`
  const evaluate = (ms: number) => verify(body, header, secret, { at: new Date(t * 1000 + ms), toleranceSeconds: 0 }).ok
  expect([evaluate(0), evaluate(999), evaluate(1000), evaluate(-1)]).toEqual([true, true, false, false])
})

test('openssl makes the same signatures', () => {
  const bodies = ['', '{}', body, 'ä\u0000\n', 'x'.repeat(100_000)]
  for (const text of bodies) {
    const input = Buffer.from(`${t}.${text}`)
    const printed = execFileSync('openssl', ['dgst', '-sha256', '-hmac', secret, '-hex'], { input, encoding: 'utf8' })
    expect(sign(text, [secret], at)).toBe(`t=${t},v1=${printed.trim().split(' ').at(-1)}`)
  }
})

test('signed payloads verify, but not with one byte, second, or character of the secret changed', () => {
  const facts = fc.record({
    bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    key: fc.string({ minLength: 1, maxLength: 80 }),
    seconds: fc.integer({ min: 0, max: 99_999_999_999 }),
    place: fc.nat(),
    flip: fc.integer({ min: 1, max: 255 }),
  })
  fc.assert(
    fc.property(facts, ({ bytes, key, seconds, place, flip }) => {
      const now = new Date(seconds * 1000)
      const header = sign(bytes, [key], now)
      expect(verify(bytes, header, key, { at: now })).toEqual({ ok: true, signedAt: now })
      const other = bytes.with(place % bytes.length, bytes[place % bytes.length]! ^ flip)
      expect(verify(other, header, key, { at: now }).ok).toBe(false)
      expect(verify(bytes, header.replace(/^t=\d+/, `t=${seconds + 1}`), key, { at: now }).ok).toBe(false)
      expect(verify(bytes, header, `${key}x`, { at: now }).ok).toBe(false)
    }),
  )
})

test('evaluates any header text, and accepts none of it', () => {
  const pieces = fc.array(fc.constantFrom('t=', 'v1=', ',', '=', String(t), other, ' ', '\0', 'ä', '0'), {
    maxLength: 20,
  })
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 3000 }),
        pieces.map((parts) => parts.join('')),
      ),
      (header) => {
        expect(verify(body, header, secret, { at }).ok).toBe(false)
      },
    ),
  )
})

function hmac(text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

function escaped(json: string): string {
  return json.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Returns JSON with the spaces that Python's json.dumps writes. */
function spaced(json: string): string {
  const indented = JSON.stringify(JSON.parse(json), undefined, 1)
  return indented.replaceAll(/,\n */g, ', ').replaceAll(/\n */g, '')
}
