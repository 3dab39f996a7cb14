import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiOf, classResource, failureOf, message, object } from './api-samples.ts'
import { type GoogleServer, rejection, startGoogleServer } from './google-server.ts'
import { publicKey } from './samples.ts'

let google: GoogleServer

beforeEach(async () => {
  google = await startGoogleServer(publicKey)
})
afterEach(() => google.close())

test.each([
  ['the cap on messages', rejection(403, 'quotaExceeded'), { kind: 'quota', status: 403, reason: 'quotaExceeded' }],
  ['another 403', rejection(403, 'forbidden'), { kind: 'permission', status: 403, reason: 'forbidden' }],
  ['429', rejection(429, 'rateLimitExceeded', { 'retry-after': '30' }), { kind: 'quota', retryAfterSeconds: 30 }],
  [
    '429 for years',
    rejection(429, 'rateLimitExceeded', { 'retry-after': '9999999999' }),
    { kind: 'quota', retryAfterSeconds: 3600 },
  ],
  ['429 without a body', { status: 429 }, { kind: 'quota', reason: null, retryAfterSeconds: undefined }],
  ['404', rejection(404, 'resourceNotFound'), { kind: 'missing' }],
  [
    '400',
    rejection(400, 'invalidValue'),
    { kind: 'invalid', reason: 'invalidValue', message: expect.stringMatching(/No: invalidValue/) },
  ],
  ['400 in HTML', { status: 400, body: '<html>' }, { kind: 'invalid', reason: null }],
  ['409', rejection(409, 'conflict'), { kind: 'conflict' }],
  ['500 and broken JSON', { status: 500, body: '{"error":' }, { kind: 'unavailable', status: 500, reason: null }],
  [
    '503',
    { status: 503, headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' } },
    { kind: 'unavailable', retryAfterSeconds: 5 },
  ],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }, { kind: 'unavailable', status: 302 }],
])('recognizes %s', async (_, answer, expected) => {
  google.answerNext(answer)
  expect(await failureOf(apiOf(google).addMessage('generic', '3388.1', message))).toMatchObject(expected)
})

test.each([
  ['a truncated response', { status: 200, body: '{"id": "33' }],
  ['a response that is not an object', { status: 200, body: '[]' }],
])('reports %s as unavailable', async (_, answer) => {
  google.answerNext(answer)
  expect(await failureOf(apiOf(google).getObject('generic', '3388.1'))).toMatchObject({
    kind: 'unavailable',
    status: null,
  })
})

test.each([
  ['a page', '<html>Sign in</html>'],
  ['nothing', ''],
])('reports a write as unavailable if the response is %s', async (_, body) => {
  const api = apiOf(google)
  for (const write of [
    () => api.insertClass('generic', classResource),
    () => api.upsertObject('generic', object),
    () => api.addMessage('generic', '3388.1', message),
  ]) {
    google.answerNext({ status: 200, body })
    expect(await failureOf(write())).toMatchObject({ kind: 'unavailable', status: null })
  }
})

test.each<[string, Parameters<GoogleServer['answerNext']>[0]]>([
  ['never responds', () => undefined],
  ['sends only a part', (response) => response.writeHead(200).write('{"id":')],
  ['hangs up', (response) => response.destroy()],
  ['sends too much', { status: 200, body: ' '.repeat(1024 * 1024 + 1) }],
])('reports a server that %s as unavailable within the timeout', async (_, answer) => {
  google.answerNext(answer)
  const error = await failureOf(apiOf(google, { timeoutSeconds: 0.3 }).getObject('generic', '3388.1'))
  expect(error).toMatchObject({ kind: 'unavailable', status: null })
})

test('reports an unreachable server as unavailable', async () => {
  await google.close()
  expect(await failureOf(apiOf(google).upsertObject('generic', object))).toMatchObject({
    kind: 'unavailable',
    status: null,
  })
})

test('errors contain neither the token nor the key', async () => {
  google.answerNext(rejection(403, 'forbidden'), (response) => response.destroy())
  const api = apiOf(google)
  const errors = [
    await failureOf(api.upsertObject('generic', object)),
    await failureOf(api.upsertObject('generic', object)),
  ]
  google.answerNextToken({ status: 400, body: { error: 'invalid_grant' } })
  errors.push(await failureOf(apiOf(google).upsertObject('generic', object)))
  for (const error of errors) {
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/token-1|assertion=|PRIVATE KEY/)
  }
})
