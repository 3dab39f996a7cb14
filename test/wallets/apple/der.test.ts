import { expect, test } from 'vitest'
import { element, membersOf, objectIdentifier, sequence, setOf, time } from '../../../src/wallets/apple/package.ts'

test.each([
  ['1.2.840.113549.1.7.2', '06092a864886f70d010702'],
  ['2.16.840.1.101.3.4.2.1', '0609608648016503040201'],
  ['1.2.840.113635.100.6.1.16', '060a2a864886f76364060110'],
])('object identifier %s', (dotted, hex) => {
  expect(objectIdentifier(dotted).toString('hex')).toBe(hex)
})

test.each([
  [0, '0400'],
  [127, '047f'],
  [128, '048180'],
  [255, '0481ff'],
  [256, '04820100'],
  [65535, '0482ffff'],
])('a length of %i bytes takes the shortest form', (length, prefix) => {
  expect(element(0x04, Buffer.alloc(length)).toString('hex', 0, prefix.length / 2)).toBe(prefix)
})

test('an element too long for a signature is refused', () => {
  expect(() => element(0x04, Buffer.alloc(65536))).toThrow(RangeError)
})

test.each([
  ['1950-01-01T00:00:00Z', '170d3530303130313030303030305a'],
  ['2049-12-31T23:59:59.999Z', '170d3439313233313233353935395a'],
  ['2050-01-01T00:00:00Z', '180f32303530303130313030303030305a'],
  ['1949-12-31T23:59:59Z', '180f31393439313233313233353935395a'],
])('%s is UTCTime from 1950 to 2049, GeneralizedTime outside', (moment, hex) => {
  expect(time(new Date(moment)).toString('hex')).toBe(hex)
})

test('the members of a SET OF are ordered by their encoding, those of a SEQUENCE stay as given', () => {
  const long = element(0x04, Buffer.alloc(5))
  const short = element(0x04, Buffer.alloc(2))
  const integer = element(0x02, Buffer.from([7]))
  expect(membersOf(setOf(long, short, integer))).toEqual([integer, short, long])
  expect(membersOf(sequence(long, short, integer))).toEqual([long, short, integer])
})

test('members are found behind long lengths', () => {
  const big = element(0x04, Buffer.alloc(300))
  expect(membersOf(sequence(big, sequence(big)))).toEqual([big, sequence(big)])
})
