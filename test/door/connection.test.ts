import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Connection, createConnection } from '../../src/door/engine/connection.ts'
import { phoneSettings } from '../../src/door/engine/environment.ts'

/** The maximum time for which a server accepts a token that another server has revoked. */
const REMEMBERED_MS = 1_000
const PROMISED_MS = 5_000
const { pollMs: POLL_MS } = phoneSettings

let connection: Connection
let isVisible: boolean
let isDue: boolean
/** The send time of the last request that got a response. */
let answeredAt: number
let isReachable: boolean
/** The times at which the engine checked that the server is reachable. */
let looks: number[]

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  isVisible = true
  isDue = false
  isReachable = true
  looks = []
  connection = connect()
})

function connect(): Connection {
  return createConnection({
    initially: 'unknown',
    lastContact: new Date(-60_000),
    pollMs: POLL_MS,
    now: () => new Date(),
    // Use the longest random pause.
    random: () => 1,
    isVisible: () => isVisible,
    quietMs: () => Date.now() - answeredAt,
    isDue: () => isDue,
    probe: async () => {
      answeredAt = Date.now()
      looks.push(answeredAt)
      return isReachable
    },
    uploadMost: async () => ({ kind: 'done' }),
    uploadRest: async () => ({ kind: 'done' }),
    areDone: async () => true,
    onChange: () => undefined,
    onError: (error) => {
      throw error
    },
  })
}

afterEach(async () => {
  await connection.stop()
  vi.useRealTimers()
})

test('a visible revoked door notices its revocation within the promised time', async () => {
  expect(POLL_MS + REMEMBERED_MS).toBeLessThanOrEqual(PROMISED_MS - 1_000)
  for (const scanAfterMs of [0, 100, 700, 2_200, 2_300, 2_900, 3_000]) {
    await vi.advanceTimersByTimeAsync(scanAfterMs)
    answeredAt = Date.now()
    const before = looks.length
    await vi.advanceTimersByTimeAsync(POLL_MS)
    expect(looks.length, `${scanAfterMs} ms after a look`).toBeGreaterThan(before)
  }
})

test('successful scans replace probes until the list is due', async () => {
  await vi.advanceTimersByTimeAsync(10)
  expect(looks).toHaveLength(1)
  for (let scans = 0; scans < 60; scans += 1) {
    answeredAt = Date.now()
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(looks).toHaveLength(1)
  isDue = true
  answeredAt = Date.now()
  await vi.advanceTimersByTimeAsync(POLL_MS)
  expect(looks).toHaveLength(2)
})

test('a page that is hidden sends no requests until it is visible', async () => {
  isVisible = false
  await vi.advanceTimersByTimeAsync(60_000)
  expect(looks).toHaveLength(1)
  connection.retry()
  await vi.advanceTimersByTimeAsync(0)
  expect(looks).toHaveLength(2)
})

test('a door that starts offline is offline since its last contact, and later since the loss', async () => {
  await connection.stop()
  isReachable = false
  connection = connect()
  await vi.advanceTimersByTimeAsync(POLL_MS)
  expect(connection.offlineSince).toEqual(new Date(-60_000))
  isReachable = true
  await vi.advanceTimersByTimeAsync(10_000)
  expect(connection).toMatchObject({ state: 'online', offlineSince: null })
  connection.lost()
  expect(connection.offlineSince).toEqual(new Date(Date.now()))
})
