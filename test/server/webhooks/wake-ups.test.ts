import { expect, onTestFinished, test, vi } from 'vitest'
import { createWakeUps } from '../../../src/server/webhooks/wake-ups.ts'

const never = new AbortController().signal

test('followers of a workspace share one read, unless an event arrived in the meantime', async () => {
  const wakeUps = createWakeUps()
  const [first, second, other] = [wakeUps.listen('a'), wakeUps.listen('a'), wakeUps.listen('b')]
  const elsewhere = new AbortController()
  const sleeper = other.next(60_000, elsewhere.signal)
  // The first follower wakes the second, which would have slept for a minute.
  expect(await Promise.all([first.next(60_000, never), second.next(1, never)])).toEqual([false, false])

  let reads = 0
  const answers: ((value: number) => void)[] = []
  const read = () => {
    reads += 1
    return new Promise<number>((resolve) => answers.push(resolve))
  }
  const together = [first.share('end', read), second.share('end', read)]
  expect(reads).toBe(1)
  wakeUps.merge({ what: 'event', workspaceId: 'a' } as never)
  const fresh = second.share('end', read)
  expect(reads).toBe(2)
  answers.forEach((answer, n) => {
    answer(n)
  })
  expect(await Promise.all([...together, fresh])).toEqual([0, 0, 1])
  expect(await first.next(60_000, never)).toBe(true)

  elsewhere.abort()
  expect(await sleeper).toBe(false)
  for (const one of [first, second, other]) one.close()
})

test('a sender is notified of deliveries of its endpoint only, until it ends', () => {
  const wakeUps = createWakeUps()
  const wake = vi.fn()
  const end = wakeUps.subscribe('endpoint', wake)
  const deliveries = (webhookId: string) => wakeUps.merge({ what: 'deliveries', webhookId, made: undefined })
  deliveries('another')
  expect(wake).not.toHaveBeenCalled()
  deliveries('endpoint')
  end()
  deliveries('endpoint')
  expect(wake).toHaveBeenCalledOnce()
})

test('a follower that closes wakes up, and the last one stops the timer of its workspace', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const wakeUps = createWakeUps()
  const [first, second] = [wakeUps.listen('a'), wakeUps.listen('a')]
  const sleeping = [first.next(60_000, never), second.next(60_000, never)]
  first.close()
  expect(await sleeping[0]).toBe(false)
  expect(vi.getTimerCount()).toBe(1)
  second.close()
  expect(await sleeping[1]).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})

test('the shortest wait of a workspace wakes all of its followers', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const wakeUps = createWakeUps()
  const waits = [60_000, 10].map((milliseconds) => wakeUps.listen('a').next(milliseconds, never))
  vi.advanceTimersByTime(10)
  expect(vi.getTimerCount()).toBe(0)
  expect(await Promise.all(waits)).toEqual([false, false])
})

test('a read that ends after a newer event keeps the newer read shared', async () => {
  const wakeUps = createWakeUps()
  const follower = wakeUps.listen('a')
  const answers: ((value: number) => void)[] = []
  const read = () => new Promise<number>((resolve) => answers.push(resolve))
  const old = follower.share('end', read)
  wakeUps.merge({ what: 'event', workspaceId: 'a' } as never)
  const fresh = follower.share('end', read)
  answers[0]!(0)
  await old
  const joined = follower.share('end', read)
  expect(answers).toHaveLength(2)
  answers[1]!(1)
  expect(await Promise.all([fresh, joined])).toEqual([1, 1])
})
