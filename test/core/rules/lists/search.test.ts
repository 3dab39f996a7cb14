import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldCase, indexedText, indexedVariables } from '../../../../src/core/rules/lists/search.ts'

test.each([
  ['ÄPFEL', 'äpfel'],
  ['Ωμέγα', 'ωμέγα'],
  ['e\u0301', '\u00e9'],
  ['日本', '日本'],
])('a search treats %s and %s as equal', (one, other) => {
  expect(foldCase(one)).toBe(foldCase(other))
})

test('index texts are short and well-formed, and differ if two texts differ by more than white space', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.integer({ min: 100, max: 300 }).map((length) => 'x'.repeat(length)),
  )
  fc.assert(
    fc.property(text, text, (one, other) => {
      const indexed = indexedText(one)
      expect(indexed.length).toBeLessThanOrEqual(128)
      expect(indexed.isWellFormed()).toBe(true)
      expect(indexed).not.toContain('\0')
      expect(indexed === indexedText(other)).toBe(one.trim() === other.trim())
    }),
  )
})

test('finds each variable once, and other values than strings by their JSON', () => {
  expect(indexedVariables({ tier: ' Gold ', count: 3, gone: null, deep: { a: [1] } })).toEqual([
    { name: 'tier', value: 'Gold' },
    { name: 'count', value: '3' },
    { name: 'gone', value: 'null' },
    { name: 'deep', value: '{"a":[1]}' },
  ])
  expect(indexedVariables({ a: 'x', ' a ': 'y' })).toHaveLength(1)
})
