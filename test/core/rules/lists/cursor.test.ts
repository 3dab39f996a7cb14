import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Cursor,
  decodeCursor,
  encodeCursor,
  fingerprint,
  isCut,
  type KeyType,
  MAX_KEY_CHARACTERS,
  sealCursor,
  unsealCursor,
} from '../../../../src/core/rules/lists/cursor.ts'

const walk = fingerprint(['projects', 'name', 'asc', []])
const texts = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.replaceAll('\0', ''))
const cursors = fc.record<Cursor>({
  total: fc.maxSafeNat(),
  offset: fc.maxSafeNat(),
  id: fc.uuid(),
  key: fc.oneof(texts, fc.maxSafeInteger(), fc.constant(null)),
})

const typeOf = (key: Cursor['key']): KeyType => (key === null ? 'none' : typeof key === 'string' ? 'text' : 'integer')

const readBack = (cursor: Cursor) => decodeCursor(encodeCursor(cursor, walk), walk, typeOf(cursor.key))

test('a cursor decodes to what was encoded, except for text of more than 320 bytes', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      const { key } = cursor
      if (typeof key === 'string') fc.pre(Buffer.byteLength(key) <= 320)
      expect(readBack(cursor)).toEqual(cursor)
    }),
  )
})

test('a cursor holds as many whole characters of a long text as fit into 320 bytes, and marks it as cut', () => {
  fc.assert(
    fc.property(texts, fc.constantFrom('a', 'é', '李', '\u{10ffff}'), (beginning, character) => {
      const key = beginning + character.repeat(321)
      const read = readBack({ total: 1, offset: 1, id: randomUUID(), key })!.key as string
      expect(key.startsWith(read)).toBe(true)
      expect(isCut(read)).toBe(true)
      const next = String.fromCodePoint(key.codePointAt(read.length)!)
      expect(Buffer.byteLength(read)).toBeLessThanOrEqual(320)
      expect(Buffer.byteLength(read + next)).toBeGreaterThan(320)
    }),
  )
})

test('sort values fit whole up to the documented length, with any characters', () => {
  const key = '\u{10ffff}'.repeat(MAX_KEY_CHARACTERS)
  const cursor = { total: 1, offset: 1, id: randomUUID(), key }
  expect(decodeCursor(encodeCursor(cursor, walk), walk, 'text')).toEqual(cursor)
})

test('a sealed cursor never exceeds 512 characters, regardless of the sorted text', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      const sealed = sealCursor(encodeCursor(cursor, walk), ['a'], randomBytes(32))
      expect(sealed.length).toBeLessThanOrEqual(512)
      expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/)
    }),
  )
})

test('rejects garbage as a cursor without throwing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.json()), (text) => {
      for (const type of ['text', 'integer', 'none'] as const) {
        expect(decodeCursor(text, walk, type)).toBeUndefined()
        expect(decodeCursor(Buffer.from(text).toString('base64url'), walk, type)).toBeUndefined()
      }
      expect(unsealCursor(text, ['a'], [randomBytes(32)])).toBeUndefined()
    }),
  )
})

test('rejects cursors with a key of another type, or one that no database accepts', () => {
  const facts = { total: 1, offset: 1, id: randomUUID() }
  const text = (key: Cursor['key']) => encodeCursor({ ...facts, key }, walk)
  expect(decodeCursor(text('k'), walk, 'integer')).toBeUndefined()
  expect(decodeCursor(text('k'), walk, 'none')).toBeUndefined()
  expect(decodeCursor(text(null), walk, 'integer')).toBeUndefined()
  expect(decodeCursor(text(7), walk, 'none')).toBeUndefined()
  for (const key of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    expect(decodeCursor(text(key), walk, 'integer')).toBeUndefined()
  }
  expect(decodeCursor(text('a\0b'), walk, 'text')).toBeUndefined()
  const broken = Buffer.concat([Buffer.from(text(null), 'base64url'), Buffer.from([0xff])])
  expect(decodeCursor(broken.toString('base64url'), walk, 'text')).toBeUndefined()
})

test('rejects a cursor whose total or offset is not a safe integer', () => {
  const text = encodeCursor({ total: 1, offset: 1, id: randomUUID(), key: null }, walk)
  for (const [from, to] of [
    [9, 16],
    [16, 23],
  ]) {
    const bytes = Buffer.from(text, 'base64url').fill(0xff, from, to)
    expect(decodeCursor(bytes.toString('base64url'), walk, 'none')).toBeUndefined()
  }
})

test('rejects a cursor of another list, sort, direction, or filter', () => {
  const text = encodeCursor({ total: 1, offset: 1, id: randomUUID(), key: 'k' }, walk)
  const others = [
    ['templates', 'name', 'asc', []],
    ['projects', 'name', 'desc', []],
    ['projects', 'name', 'asc', [['a', 1]]],
  ]
  for (const other of others) expect(decodeCursor(text, fingerprint(other), 'text')).toBeUndefined()
})

test('a sealed cursor is valid for one scope and key, also after a rotation, and only unchanged', () => {
  const [key, next] = [randomBytes(32), randomBytes(32)]
  const text = encodeCursor({ total: 1, offset: 1, id: randomUUID(), key: 'k' }, walk)
  const sealed = sealCursor(text, ['workspace', 'list'], key)
  expect(unsealCursor(sealed, ['workspace', 'list'], [next, key])).toBe(text)
  expect(unsealCursor(sealed, ['workspace', 'list'], [next])).toBeUndefined()
  for (const scope of [['other', 'list'], ['workspace', 'other'], ['workspace'], ['workspacelist']]) {
    expect(unsealCursor(sealed, scope, [key])).toBeUndefined()
  }
  for (let at = 0; at < sealed.length; at += 1) {
    const altered = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
    expect(unsealCursor(altered, ['workspace', 'list'], [key])).toBeUndefined()
  }
})
