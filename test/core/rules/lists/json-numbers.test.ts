import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findLossyNumbers } from '../../../../src/core/rules/lists/json-numbers.ts'
import { times } from '../../../support/long.ts'

const pathsIn = (json: string) => [...findLossyNumbers(json)].map(({ path }) => path)

test.each([
  '12345678901234567890',
  '9007199254740993',
  '-9007199254740993',
  '-100000000000000000000',
  '1e400',
  '-1E+400',
  `1${'0'.repeat(400)}`,
])('finds %s at any position, with its path', (number) => {
  expect(pathsIn(number)).toEqual([[]])
  expect(pathsIn(`{"a": ${number}}`)).toEqual([['a']])
  expect(pathsIn(`{"x":{"b":[1,[],{"c\\"d":\n${number} }]}, "e":${number}}`)).toEqual([['x', 'b', 2, 'c"d'], ['e']])
  expect([...findLossyNumbers(`[${number}]`)][0]!.message).toMatch(/as text/)
})

test.each([
  '9007199254740992',
  '-9007199254740991',
  '1e300',
  '1e+21',
  '9007199254740993.5',
  '0.1234567890123456789012345',
  '1.5e-400',
  '-0',
  '"12345678901234567890"',
  '"1e400 \\\\"',
  '{"12345678901234567890":1,"[1e400":"\\",1e400"}',
])('accepts %s', (json) => {
  expect(pathsIn(json)).toEqual([])
})

test('paths match those of the parsed value, regardless of the JSON around them', () => {
  const marker = '91234567890123456789'
  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue().map((plain) => JSON.stringify(plain)),
      fc.constant(marker),
      fc.array(tie('json'), { maxLength: 4 }).map((items) => `[ ${items.join(' ,\n')}]`),
      fc
        .uniqueArray(fc.tuple(fc.string({ unit: 'binary' }), tie('json')), { selector: ([key]) => key, maxLength: 4 })
        .map((pairs) => `{${pairs.map(([key, item]) => `${JSON.stringify(key)}\t: ${item}`).join(', ')} }`),
    ),
  })).json as fc.Arbitrary<string>
  fc.assert(
    fc.property(value, (json) => {
      const wanted: (string | number)[][] = []
      const walk = (part: unknown, path: (string | number)[]) => {
        if (part === Number(marker)) wanted.push(path)
        else if (Array.isArray(part)) for (const [index, item] of part.entries()) walk(item, [...path, index])
        else if (part !== null && typeof part === 'object') {
          for (const [key, item] of Object.entries(part)) walk(item, [...path, key])
        }
      }
      walk(JSON.parse(json), [])
      const found = [...findLossyNumbers(json)].filter(({ message }) => message.includes(marker))
      // Keys that look like an index come first in the parsed value.
      const inOrder = (paths: unknown[]) => paths.map((path) => JSON.stringify(path)).toSorted()
      expect(inOrder(found.map(({ path }) => path))).toEqual(inOrder(wanted))
    }),
    { numRuns: times(30, 1_000) },
  )
})
