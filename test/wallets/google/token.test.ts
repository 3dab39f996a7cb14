import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiOf, classResource, failureOf } from './api-samples.ts'
import { type GoogleServer, startGoogleServer } from './google-server.ts'
import { identity, publicKey } from './samples.ts'

let google: GoogleServer

beforeEach(async () => {
  google = await startGoogleServer(publicKey)
})
afterEach(() => google.close())

test('concurrent calls share one token, which a signed assertion obtains', async () => {
  const api = apiOf(google)
  await Promise.all([1, 2, 3].map((n) => api.upsertClass('generic', { id: `3388.template-${n}` })))
  expect(google.requests).toHaveLength(3)
  expect(google.assertions).toMatchObject([
    {
      iss: identity.clientEmail,
      scope: 'https://www.googleapis.com/auth/wallet_object.issuer',
      aud: 'https://oauth2.googleapis.com/token',
    },
  ])
})

test('replaces a revoked token once for all of its callers', async () => {
  const api = apiOf(google)
  await api.upsertClass('generic', { id: '3388.template-1' })
  google.revokeTokens()
  await Promise.all([2, 3, 4].map((n) => api.upsertClass('generic', { id: `3388.template-${n}` })))
  expect(google.assertions).toHaveLength(2)
  expect(google.resources.size).toBe(4)
})

test('reports a rejected service account as a permission error after one request', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const error = await failureOf(
    apiOf(google, { identity: { ...identity, privateKey } }).upsertClass('generic', classResource),
  )
  expect(error).toMatchObject({ kind: 'permission', status: 400, reason: 'invalid_grant' })
  expect(error.message).toContain('Invalid JWT Signature.')
  expect(google.tokenRequests).toHaveLength(1)
})

test.each([
  ['404', { status: 404 }, 'permission'],
  ['500', { status: 500 }, 'unavailable'],
  ['429', { status: 429, headers: { 'retry-after': '7' } }, 'quota'],
  ['no JSON', { status: 200, body: '<html>' }, 'unavailable'],
  ['null', { status: 200, body: 'null' }, 'unavailable'],
  ['no token', { status: 200, body: {} }, 'unavailable'],
] as const)('classifies a token endpoint that returns %s, and retries with the next call', async (_, answer, kind) => {
  const api = apiOf(google)
  google.answerNextToken(answer)
  expect(await failureOf(api.getObject('generic', '3388.1'))).toMatchObject({ kind })
  expect(await failureOf(api.getObject('generic', '3388.1'))).toMatchObject({ kind: 'missing', status: 404 })
})
