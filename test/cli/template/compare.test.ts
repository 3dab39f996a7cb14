import { expect, test } from 'vitest'
import { findChanges, showChanges } from '../../../src/cli/template/template-push.ts'

const field = (key: string, value: string) => ({ key, value })

test('compares list items with those of the same key, at any position', () => {
  const before = { fields: [field('a', '1'), field('b', '2')] }
  expect(findChanges(before, { fields: [field('b', '2'), field('a', '1')] })).toEqual([
    { path: 'fields', before: ['a', 'b'], after: ['b', 'a'] },
  ])
  expect(findChanges(before, { fields: [field('new', '0'), field('a', '1'), field('b', '3')] })).toEqual([
    { path: 'fields.b.value', before: '2', after: '3' },
    { path: 'fields.new', after: field('new', '0') },
  ])
})

test.each<[string, unknown, unknown, number]>([
  ['the order of properties', { a: 1, b: 2 }, { b: 2, a: 1 }, 0],
  ['a property that is undefined', { a: 1, b: undefined }, { a: 1 }, 1],
  ['a list that became an object', { a: [1] }, { a: { 0: 1 } }, 1],
  ['null in place of an object', { a: null }, { a: {} }, 1],
  ['duplicate keys', [field('a', '1'), field('a', '2')], [field('a', '1'), field('a', '3')], 1],
])('finds the changes in %s', (_, before, after, count) => {
  expect(findChanges(before, after)).toHaveLength(count)
})

test('shows removals before additions, on one line each', () => {
  const changes = findChanges({ name: 'Old\n\u001b[31m' }, { name: 'New', key: 'k' })
  expect(showChanges(changes).split('\n')).toEqual(['- name: "Old\\n\\u001b[31m"', '+ name: "New"', '+ key: "k"'])
})
