import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createPacing } from '../../../src/wallets/google/api/pacing.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function record(pacing: ReturnType<typeof createPacing>, count: number): number[] {
  const start = performance.now()
  const turns: number[] = []
  for (let n = 0; n < count; n++) void pacing.turn('bulk').then(() => turns.push(Math.round(performance.now() - start)))
  return turns
}

test('turns are evenly spaced, and the first one is immediate', async () => {
  const turns = record(createPacing(20), 5)
  await vi.advanceTimersByTimeAsync(1000)
  expect(turns).toEqual([0, 50, 100, 150, 200])
})

test('idle time saves up no turns', async () => {
  const pacing = createPacing(20)
  await pacing.turn('bulk')
  await vi.advanceTimersByTimeAsync(60_000)
  const turns = record(pacing, 3)
  await vi.advanceTimersByTimeAsync(1000)
  expect(turns).toEqual([0, 50, 100])
})

test('a wait never exceeds ten seconds: longer ones get Retry-After', async () => {
  const pacing = createPacing(20)
  const turns = record(pacing, 201)
  await expect(pacing.turn('bulk')).rejects.toMatchObject({ kind: 'quota', status: null, retryAfterSeconds: 11 })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(turns).toHaveLength(201)
})

test('a pause also delays waiting calls, which stay spaced after it', async () => {
  const pacing = createPacing(20)
  const turns = record(pacing, 3)
  await vi.advanceTimersByTimeAsync(10)
  pacing.pause(2)
  await vi.advanceTimersByTimeAsync(5000)
  expect(turns).toEqual([0, 2010, 2060])
})

test('a pause lasts at most a minute, for any requested time', async () => {
  const pacing = createPacing(20)
  pacing.pause(86_400)
  await expect(pacing.turn('bulk')).rejects.toMatchObject({ retryAfterSeconds: 60 })
  await vi.advanceTimersByTimeAsync(60_000)
  await expect(pacing.turn('bulk')).resolves.toBeUndefined()
})

test('a late timer is followed by one turn, not by a burst', async () => {
  let lateMs = 0
  const onTime = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => onTime() + lateMs)
  onTestFinished(() => clock.mockRestore())
  const turns = record(createPacing(20), 5)
  await vi.advanceTimersByTimeAsync(10)
  lateMs = 1000
  await vi.advanceTimersByTimeAsync(1000)
  expect(turns).toHaveLength(5)
  expect(turns[4]! - turns[2]!).toBeGreaterThanOrEqual(99)
})

test('a shorter pause that is requested later does not end a longer one', async () => {
  const pacing = createPacing(20)
  pacing.pause(5)
  pacing.pause(1)
  const turns = record(pacing, 2)
  await vi.advanceTimersByTimeAsync(6_000)
  expect(turns).toEqual([5_000, 5_050])
})

test('calls that a person waits for precede earlier bulk calls, and keep to the rate', async () => {
  const pacing = createPacing(20)
  const order: string[] = []
  const take = (urgency: 'urgent' | 'bulk', name: string) => pacing.turn(urgency).then(() => order.push(name))
  for (const name of ['a', 'b', 'c']) void take('bulk', name)
  await vi.advanceTimersByTimeAsync(10)
  for (const name of ['X', 'Y']) void take('urgent', name)
  await vi.advanceTimersByTimeAsync(100)
  expect(order).toEqual(['a', 'X', 'Y'])
  await vi.advanceTimersByTimeAsync(100)
  expect(order).toEqual(['a', 'X', 'Y', 'b', 'c'])
})

test('rejects bulk calls beyond ten seconds of waiting, but not urgent calls', async () => {
  const pacing = createPacing(20)
  record(pacing, 201)
  await expect(pacing.turn('bulk')).rejects.toMatchObject({ kind: 'quota' })
  const start = performance.now()
  const urgent = pacing.turn('urgent').then(() => performance.now() - start)
  await vi.advanceTimersByTimeAsync(100)
  expect(await urgent).toBeLessThanOrEqual(51)
})
