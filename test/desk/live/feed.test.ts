import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ApiRejection } from '../../../src/desk/live/desk-api.ts'
import { createFeed, type Feed } from '../../../src/desk/live/feed.ts'

let feed: Feed | undefined

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  feed?.end()
  vi.useRealTimers()
})

const bytes = (text: string) => new TextEncoder().encode(text)

function eventOf(id: string): Uint8Array {
  const envelope = { id, type: 'pass.scanned', timestamp: '2027-05-31T19:30:00.000Z', correlationId: null, data: {} }
  return bytes(`id: ${id}\ndata: ${JSON.stringify(envelope)}\n\n`)
}

/** Yields a stream that continues until it is aborted. */
async function* endless(signal: AbortSignal, ...pieces: Uint8Array[]) {
  yield* pieces
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

test('is live after the start event of the server, and passes on each event', async () => {
  const told: (string | null)[] = []
  feed = createFeed((signal) => endless(signal, bytes('id: 0\n\n'), bytes(':\n\n'), eventOf('1'), eventOf('2')), {
    isAllowed: true,
  })
  feed.subscribe((event) => told.push(event?.id ?? null))
  await vi.advanceTimersByTimeAsync(1)
  expect([feed.state, told]).toEqual(['live', [null, '1', '2']])
  expect(feed.events.map(({ id }) => id)).toEqual(['2', '1'])
})

test('reopens a silent or broken stream, and reloads everything', async () => {
  let opened = 0
  feed = createFeed(
    (signal) => {
      opened += 1
      return endless(signal, bytes('id: 0\n\n'))
    },
    { isAllowed: true },
  )
  const told: unknown[] = []
  feed.subscribe((event) => told.push(event))
  await vi.advanceTimersByTimeAsync(39_000)
  expect([feed.state, opened]).toEqual(['live', 1])
  await vi.advanceTimersByTimeAsync(1_500)
  expect(feed.state).toBe('lost')
  await vi.advanceTimersByTimeAsync(3_000)
  expect([feed.state, opened, told]).toEqual(['live', 2, [null, null, null]])
})

test.each([401, 403])('does not retry with a token that cannot follow events (%i)', async (status) => {
  let opened = 0
  feed = createFeed(
    () => {
      opened += 1
      throw new ApiRejection({ status, code: '', message: 'no', waitMs: null })
    },
    { isAllowed: true },
  )
  await vi.advanceTimersByTimeAsync(600_000)
  expect([feed.state, opened]).toEqual(['asking', 1])
})

test('polls if there are too many streams, and tries again a minute later', async () => {
  let opened = 0
  feed = createFeed(
    (signal) => {
      opened += 1
      if (opened === 1) throw new ApiRejection({ status: 429, code: 'RATE_LIMITED', message: 'too many', waitMs: null })
      return endless(signal, bytes('id: 0\n\n'))
    },
    { isAllowed: true },
  )
  await vi.advanceTimersByTimeAsync(59_000)
  expect([feed.state, opened]).toEqual(['asking', 1])
  await vi.advanceTimersByTimeAsync(2_000)
  expect([feed.state, opened]).toEqual(['live', 2])
})

test('opens no stream without the scope', async () => {
  feed = createFeed(
    () => {
      throw new Error('opened')
    },
    { isAllowed: false },
  )
  await vi.advanceTimersByTimeAsync(60_000)
  expect(feed.state).toBe('asking')
})
