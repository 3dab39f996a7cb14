import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cursor, decodeCursor, digestOf, encodeCursor, fingerprint } from '../../../src/core/rules/cursor.ts'

const walk = fingerprint(['projects', 'name', 'asc', []])
const cursors = fc.record<Cursor>({
  total: fc.maxSafeNat(),
  offset: fc.maxSafeNat(),
  id: fc.uuid(),
  key: fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.maxSafeInteger()),
})

test('what was encoded is what is read back; of a long key, which is to be read from its row, a digest', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      const read = decodeCursor(encodeCursor(cursor, walk), walk) as Cursor
      const { key } = cursor
      const isLong = typeof key === 'string' && Buffer.byteLength(JSON.stringify(key)) > 200
      expect(read).toEqual({ ...cursor, key: isLong ? digestOf(key) : key })
    }),
  )
})

test('a cursor never exceeds 512 characters, whatever the sorted text', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      const encoded = encodeCursor({ ...cursor, total: 2 ** 53 - 1, offset: 2 ** 53 - 1 }, walk)
      expect(encoded.length).toBeLessThanOrEqual(512)
      expect(encoded).toMatch(/^[A-Za-z0-9_-]+$/)
    }),
  )
})

test('garbage is malformed and never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.json()), (text) => {
      expect(decodeCursor(text, walk)).toBe('malformed')
      expect(decodeCursor(Buffer.from(text).toString('base64url'), walk)).toBe('malformed')
    }),
  )
})

test.each([
  ['a negative offset', [walk, 1, -1, randomUUID(), 'k']],
  ['a total that is no number', [walk, '1', 0, randomUUID(), 'k']],
  ['an id that is none', [walk, 1, 0, 'x', 'k']],
  ['a key that is an object', [walk, 1, 0, randomUUID(), {}]],
  ['too many parts', [walk, 1, 0, randomUUID(), 'k', 'more']],
])('%s is malformed', (_, parts) => {
  expect(decodeCursor(Buffer.from(JSON.stringify(parts)).toString('base64url'), walk)).toBe('malformed')
})

test('a cursor of another walk is foreign', () => {
  const text = encodeCursor({ total: 1, offset: 1, id: randomUUID(), key: 'k' }, walk)
  const others = [
    ['templates', 'name', 'asc', []],
    ['projects', 'name', 'desc', []],
    ['projects', 'name', 'asc', [['a', 1]]],
  ]
  for (const other of others) expect(decodeCursor(text, fingerprint(other))).toBe('foreign')
})
