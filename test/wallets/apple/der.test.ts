import { expect, test } from 'vitest'
import { element, membersOf, objectIdentifier, sequence, setOf, time } from '../../../src/wallets/apple/package.ts'

test.each([
  ['1.2.840.113549.1.7.2', '06092a864886f70d010702'],
  ['2.16.840.1.101.3.4.2.1', '0609608648016503040201'],
  ['1.2.840.113635.100.6.1.16', '060a2a864886f76364060110'],
])('encodes the object identifier %s', (dotted, hex) => {
  expect(objectIdentifier(dotted).toString('hex')).toBe(hex)
})

test.each([
  [0, '0400'],
  [127, '047f'],
  [128, '048180'],
  [255, '0481ff'],
  [256, '04820100'],
  [65535, '0482ffff'],
])('encodes a length of %i bytes in the shortest form', (length, prefix) => {
  expect(element(0x04, Buffer.alloc(length)).toString('hex', 0, prefix.length / 2)).toBe(prefix)
})

test('rejects an element that is too long for a signature', () => {
  expect(() => element(0x04, Buffer.alloc(65536))).toThrow(RangeError)
})

test.each([
  ['1950-01-01T00:00:00Z', '170d3530303130313030303030305a'],
  ['2049-12-31T23:59:59.999Z', '170d3439313233313233353935395a'],
  ['2050-01-01T00:00:00Z', '180f32303530303130313030303030305a'],
  ['1949-12-31T23:59:59Z', '180f31393439313233313233353935395a'],
])('encodes %s as UTCTime from 1950 to 2049, and as GeneralizedTime outside', (moment, hex) => {
  expect(time(new Date(moment)).toString('hex')).toBe(hex)
})

test('sorts the members of a SET OF by encoding, and keeps the order of a SEQUENCE', () => {
  const long = element(0x04, Buffer.alloc(5))
  const short = element(0x04, Buffer.alloc(2))
  const integer = element(0x02, Buffer.from([7]))
  expect(membersOf(setOf(long, short, integer))).toEqual([integer, short, long])
  expect(membersOf(sequence(long, short, integer))).toEqual([long, short, integer])
})

test('finds members after elements with long lengths', () => {
  const big = element(0x04, Buffer.alloc(300))
  expect(membersOf(sequence(big, sequence(big)))).toEqual([big, sequence(big)])
})
