import { expect, test } from 'vitest'
import { groupBy } from '../../src/core/group-by.ts'

test('items stand by their keys, both in the order in which they came', () => {
  expect([...groupBy([3, 1, 4, 1, 5, 9, 2, 6], (n) => n % 3)]).toEqual([
    [0, [3, 9, 6]],
    [1, [1, 4, 1]],
    [2, [5, 2]],
  ])
})
