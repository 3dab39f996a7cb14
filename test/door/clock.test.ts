import { expect, test } from 'vitest'
import { createDoorClock } from '../../src/door/engine/clock.ts'

const source = { wall: 0, monotonic: 0 }
const clockOf = () =>
  createDoorClock({ wallMs: () => source.wall, monotonicMs: () => source.monotonic }, 0, () => undefined)
const date = new Date(10_000).toUTCString()

test('each response narrows the estimated difference of the clocks', () => {
  const clock = clockOf()
  clock.observe(date, 0, 0)
  expect(clock.offsetMs).toBe(10_500)
  clock.observe(date, 500, 500)
  expect(clock.offsetMs).toBe(10_250)
})

test('a phone clock that is set back continues from its last time', () => {
  const clock = clockOf()
  source.monotonic += 5_000
  source.wall -= 3_600_000
  expect(clock.now()).toEqual(new Date(5_000))
})
