import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { apiOf, classResource, failureOf, message, object } from './api-samples.ts'
import { type GoogleServer, rejection, startGoogleServer } from './google-server.ts'
import { publicKey } from './samples.ts'

let google: GoogleServer

beforeEach(async () => {
  google = await startGoogleServer(publicKey)
})
afterEach(async () => {
  vi.useRealTimers()
  await google.close()
})

test('requests keep to the rate, except those for tokens', async () => {
  const api = apiOf(google, { requestsPerSecond: 50 })
  const objects = Array.from({ length: 11 }, (_, n) => ({ ...object, id: `3388.${n}` }))
  await api.upsertClass('generic', classResource)
  await Promise.all(objects.map((each) => api.upsertObject('generic', each)))
  const [first, last] = [google.requests[0]!, google.requests.at(-1)!]
  // The requests for objects begin after that for the class, and are 20 ms apart each. Allow for the precision of
  // timers.
  expect(last.at - first.at).toBeGreaterThan(190)
})

test('after a 429 all writes wait until Retry-After without another request', async () => {
  const api = apiOf(google)
  google.answerNext(rejection(429, 'rateLimitExceeded', { 'retry-after': '45' }))
  expect(await failureOf(api.upsertObject('generic', object))).toMatchObject({ status: 429, retryAfterSeconds: 45 })
  expect(await failureOf(api.updateObject('generic', object))).toMatchObject({
    kind: 'quota',
    status: null,
    retryAfterSeconds: 45,
  })
  expect(google.requests).toHaveLength(1)
})

test('a quota on messages of one object delays no other', async () => {
  const api = apiOf(google)
  google.resources.set('/genericObject/3388.1', object)
  google.answerNext(rejection(429, 'quotaExceeded', { 'retry-after': '45' }))
  expect(await failureOf(api.addMessage('generic', '3388.1', message))).toMatchObject({ kind: 'quota' })
  await api.updateObject('generic', object)
})

test('callers that get Retry-After do not extend the pause', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const api = apiOf(google)
  google.answerNext(rejection(429, 'rateLimitExceeded', { 'retry-after': '15' }))
  const waits: (number | undefined)[] = []
  for (let n = 0; n < 4; n++) {
    waits.push((await failureOf(api.upsertObject('generic', object))).retryAfterSeconds)
    vi.advanceTimersByTime(900)
  }
  expect(waits).toEqual([15, 15, 14, 13])
})
