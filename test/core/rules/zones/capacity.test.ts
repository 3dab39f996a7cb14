import { expect, test } from 'vitest'
import { fullnessOf } from '../../../../src/core/rules/zones/capacity.ts'

test('a zone is nearly full from 80 percent, full at its capacity, and never full without one', () => {
  const at = (capacity: number | null, ...numbers: number[]) =>
    numbers.map((inside) => fullnessOf({ inside, capacity }))
  expect(at(10, -1, 0, 7, 8, 9, 10, 11)).toEqual([
    ...['free', 'free', 'free'],
    ...['nearlyFull', 'nearlyFull'],
    ...['full', 'full'],
  ])
  expect(at(3, 2, 3)).toEqual(['free', 'full'])
  expect(at(null, 0, 1_000_000)).toEqual(['free', 'free'])
})
