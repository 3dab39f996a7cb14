import { expect, test, vi } from 'vitest'
import { doorEnglish } from '../../src/core/rules/redemption/scan-message.ts'
import { createDoorClock } from '../../src/door/engine/clock.ts'
import { phoneSettings } from '../../src/door/engine/environment.ts'
import { createDoorServer } from '../../src/door/engine/server.ts'

const never = new Promise<never>(() => undefined)

function serverOver(fetch: typeof globalThis.fetch) {
  const onUnderstood = vi.fn()
  const clock = { wallMs: () => 0, monotonicMs: () => 0 }
  const environment = {
    settings: phoneSettings,
    fetch,
    baseUrl: 'http://127.0.0.1',
    version: '1',
    language: () => ({ ...doorEnglish, zone: 'Europe/Berlin' }),
    monotonicMs: clock.monotonicMs,
  }
  const server = createDoorServer(environment, {
    clock: createDoorClock(clock, 0, () => undefined),
    token: () => 'token',
    pending: () => 0,
    onUnauthorized: () => undefined,
    onUnderstood,
  })
  return { server, onUnderstood }
}

/** Returns a response of the server. Its body arrives only if `json` resolves. */
const answer = (json: Promise<unknown>) =>
  Object.assign(new Response(null, { headers: { 'x-correlation-id': 'c' } }), { json: () => json })

test('a request ends at its timeout, even if the network never reports the abort', async () => {
  for (const fetch of [() => never, async () => answer(never)]) {
    const { server, onUnderstood } = serverOver(fetch)
    const stopped = new AbortController()
    const asked = server.self(stopped.signal)
    stopped.abort()
    expect(await asked).toEqual({ kind: 'timeout' })
    expect(onUnderstood).not.toHaveBeenCalled()
  }
})

test('a truncated response counts as no response, not as that of an older server', async () => {
  const broken = serverOver(async () => answer(Promise.reject(new TypeError('network error'))))
  expect(await broken.server.self(new AbortController().signal)).toEqual({ kind: 'timeout' })
  expect(broken.onUnderstood).not.toHaveBeenCalled()
  const other = serverOver(async () => answer(Promise.reject(new SyntaxError('no JSON'))))
  expect(await other.server.self(new AbortController().signal)).toEqual({ kind: 'timeout' })
  expect(other.onUnderstood).toHaveBeenLastCalledWith(false)
})

test('each request names the language and the time zone of the phone', async () => {
  const fetch = vi.fn(async (_url: unknown, _request?: RequestInit) => answer(Promise.resolve({ items: [] })))
  await serverOver(fetch).server.self(new AbortController().signal)
  expect(fetch.mock.lastCall![1]!.headers).toMatchObject({ 'accept-language': 'en', 'x-time-zone': 'Europe/Berlin' })
})
