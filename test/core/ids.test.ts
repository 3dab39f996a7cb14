import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentId, formatUuid, newId, parseUuid, Uuid } from '../../src/core/ids.ts'

test('IDs ascend in the order of creation, also within a millisecond', () => {
  const at = new Date('2026-03-01T12:00:00Z')
  const ids = Array.from({ length: 20_000 }, () => newId(at))
  ids.push(newId(new Date(at.getTime() + 1)), newId(new Date(at.getTime() + 5000)))
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
})

test('IDs of one time ascend even if IDs of other times are created in between', () => {
  const moments = [100, 101, 99].map((millisecond) => new Date(millisecond))
  const made = Array.from({ length: 2_000 }, () => moments.map((at) => newId(at)))
  for (const n of moments.keys()) {
    const ids = made.map((some) => some[n])
    expect(ids).toEqual([...ids].sort())
  }
})

test('an ID is a version 7 UUID that contains its time', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }), (at) => {
      const id = newId(at)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(at.getTime())
    }),
  )
})

test('equal content has the same ID, and other content another one', () => {
  expect(contentId('a', Buffer.from('b'))).toBe(contentId('a', Buffer.from('b')))
  expect(contentId('a', 'b')).not.toBe(contentId('a', 'c'))
  expect(Uuid.parse(contentId('x'))).toMatch(/^[0-9a-f-]{14}8/)
})

test('converts an ID between bytes and text', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      expect(formatUuid(parseUuid(id))).toBe(id)
    }),
  )
})

test.each([
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ...['1', '2', '3', '4', '5', '6', '7', '8'].map((version) => `018f2f5e-7c1a-${version}000-8000-0123456789ab`),
  ...['8', '9', 'a', 'b'].map((variant) => `018f2f5e-7c1a-7000-${variant}000-0123456789ab`),
])('%s is an identifier', (id) => {
  expect(Uuid.parse(id)).toBe(id)
})

test('an identifier in capitals is the same identifier', () => {
  expect(Uuid.parse('018F2F5E-7C1A-7000-8000-0123456789AB')).toBe('018f2f5e-7c1a-7000-8000-0123456789ab')
})

test.each([
  '018f2f5e-7c1a-0000-8000-0123456789ab',
  '018f2f5e-7c1a-9000-8000-0123456789ab',
  '018f2f5e-7c1a-7000-c000-0123456789ab',
  '018f2f5e7c1a700080000123456789ab',
  '{018f2f5e-7c1a-7000-8000-0123456789ab}',
  '018f2f5e-7c1a-7000-8000-0123456789ab\n',
  '',
])('rejects the identifier %j', (id) => {
  expect(Uuid.safeParse(id).success).toBe(false)
})
