import { expect, test } from 'vitest'
import { groupBy, runsOf } from '../../src/core/group-by.ts'

test('groups items by key, and keeps the order of items and keys', () => {
  expect([...groupBy([3, 1, 4, 1, 5, 9, 2, 6], (n) => n % 3)]).toEqual([
    [0, [3, 9, 6]],
    [1, [1, 4, 1]],
    [2, [5, 2]],
  ])
})

test('runs keep the order, and each has no more different keys than it may', () => {
  const first = (text: string) => text[0]
  expect(runsOf(['a1', 'a2', 'b1', 'a3', 'c1', 'a4', 'b2', 'c2'], first, 2)).toEqual([
    ['a1', 'a2', 'b1', 'a3'],
    ['c1', 'a4'],
    ['b2', 'c2'],
  ])
  expect(runsOf([], first, 2)).toEqual([])
})
