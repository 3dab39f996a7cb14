import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRefresher } from '../../../src/desk/live/refresher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('each source is read at most once a second, regardless of the number of events', async () => {
  const reads: string[] = []
  const refresher = createRefresher<string>(async (name) => void reads.push(name))
  for (let event = 0; event < 3_000; event += 1) {
    refresher.ask(['figures', 'scans'])
    await vi.advanceTimersByTimeAsync(1)
  }
  await vi.advanceTimersByTimeAsync(5_000)
  // Immediately, and after one, two, and three seconds.
  expect(reads.toSorted()).toEqual([...Array(4).fill('figures'), ...Array(4).fill('scans')])
})

test('sends a slow server at most three requests at once, one round after the other', async () => {
  let atOnce = 0
  let most = 0
  let reads = 0
  const refresher = createRefresher<string>(async () => {
    atOnce += 1
    most = Math.max(most, atOnce)
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    atOnce -= 1
    reads += 1
  })
  const names = Array.from({ length: 9 }, (_, n) => `source ${n}`)
  refresher.ask(names)
  await vi.advanceTimersByTimeAsync(5_000)
  refresher.ask(names)
  await vi.advanceTimersByTimeAsync(24_999)
  expect([most, reads]).toEqual([3, 6])
  await vi.advanceTimersByTimeAsync(40_000)
  expect([most, reads]).toEqual([3, 18])
})

test('waits as requested by the server, then reads what was requested in the meantime', async () => {
  const reads: number[] = []
  const refresher = createRefresher<string>(async () => {
    reads.push(Date.now())
  })
  refresher.ask(['a'])
  refresher.pause(7_000)
  const begin = Date.now()
  await vi.advanceTimersByTimeAsync(6_999)
  expect(reads).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(reads).toEqual([begin + 7_000])
})

test('reads nothing after its end', async () => {
  let reads = 0
  const refresher = createRefresher<string>(async () => {
    reads += 1
    refresher.end()
  })
  refresher.ask(['a', 'b', 'c', 'd', 'e'])
  await vi.advanceTimersByTimeAsync(10_000)
  refresher.ask(['a'])
  await vi.advanceTimersByTimeAsync(10_000)
  // Only the reads that began before the end.
  expect(reads).toBe(1)
})
