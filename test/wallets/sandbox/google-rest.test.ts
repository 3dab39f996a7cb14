import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createGoogleApi } from '../../../src/wallets/google/api/google-api.ts'
import { temporaryFolder } from '../apple/fixtures.ts'
import {
  askToken,
  assertion,
  authorized,
  type Google,
  genericClass,
  genericObject,
  identity,
  issuerId,
  jwt,
  message,
  startGoogle,
} from './google-support.ts'
import { call } from './support.ts'

const HOUR_MS = 3_600_000
const path = `/genericObject/${issuerId}.pass-1`

/** Creates a class and an object. */
async function filled(google: Google) {
  const rest = await authorized(google)
  expect((await rest('POST', '/genericClass', genericClass())).status).toBe(200)
  expect((await rest('POST', '/genericObject', genericObject())).status).toBe(200)
  return rest
}

const reasonOf = ({ status, json }: { status: number; json: unknown }) => {
  const { error } = json as { error: { errors: { reason: string }[] } }
  return [status, error.errors[0]?.reason]
}

test('issues an access token for an hour for an assertion of the service account', async () => {
  const google = await startGoogle()
  const { status, json } = await askToken(google, assertion())
  expect(status).toBe(200)
  expect(json).toEqual({ access_token: expect.any(String), expires_in: 3599, token_type: 'Bearer' })
  const headers = { authorization: `Bearer ${json.access_token}` }
  expect((await call('GET', `${google.apiUrl}${path}`, undefined, headers)).status).toBe(404)
  google.wait(HOUR_MS)
  expect(reasonOf(await call('GET', `${google.apiUrl}${path}`, undefined, headers))).toEqual([401, 'authError'])
})

const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const seconds = Math.floor(Date.now() / 1000)
test.each([
  ['another key', assertion({}, stranger)],
  ['another issuer', assertion({ iss: 'somebody@example.com' })],
  ['another audience', assertion({ aud: 'https://example.com' })],
  ['another scope', assertion({ scope: 'https://www.googleapis.com/auth/drive' })],
  ['an expired time', assertion({ iat: seconds - 7200, exp: seconds - 3600 })],
  ['a lifetime that is too long', assertion({ exp: seconds + 7200 })],
  ['no signature', jwt({}, identity.privateKey, { alg: 'none' })],
  ['nonsense', 'a.b.c'],
])('issues no access token for %s', async (_, given) => {
  const { status, json } = await askToken(await startGoogle(), given)
  expect([status, json.error]).toEqual([400, 'invalid_grant'])
})

test('rejects requests without an access token or with an unknown one', async () => {
  const google = await startGoogle()
  expect(reasonOf(await call('GET', `${google.apiUrl}${path}`))).toEqual([401, 'authError'])
  const headers = { authorization: 'Bearer ya29.nonsense' }
  expect(reasonOf(await call('GET', `${google.apiUrl}${path}`, undefined, headers))).toEqual([401, 'authError'])
})

test('an object is inserted once and read with its state in lower case', async () => {
  const rest = await filled(await startGoogle())
  expect(reasonOf(await rest('POST', '/genericObject', genericObject()))).toEqual([409, 'existingResource'])
  expect((await rest('GET', path)).json).toEqual(genericObject({ state: 'active' }))
  expect(reasonOf(await rest('GET', `${path}2`))).toEqual([404, 'resourceNotFound'])
  expect(reasonOf(await rest('PATCH', `${path}2`, {}))).toEqual([404, 'resourceNotFound'])
})

test('PATCH merges, null clears, and lists are replaced as a whole; PUT replaces everything', async () => {
  const rest = await filled(await startGoogle())
  const patch = { barcode: { value: 'NEW', alternateText: null }, textModulesData: [{ id: 'row', body: '3' }] }
  const patched = await rest('PATCH', path, patch)
  expect(patched.json).toMatchObject({ header: genericObject().header, textModulesData: [{ id: 'row', body: '3' }] })
  expect((patched.json as { barcode: object }).barcode).toEqual({ type: 'QR_CODE', value: 'NEW' })
  const { textModulesData: _, barcode: __, ...rest1 } = genericObject({ state: 'EXPIRED' })
  expect((await rest('PUT', path, rest1)).json).toEqual({ ...rest1, state: 'expired' })
  expect(reasonOf(await rest('PATCH', path, { header: null }))).toEqual([400, 'invalid'])
  expect((await rest('GET', path)).json).toEqual({ ...rest1, state: 'expired' })
})

test.each([
  ['a suffix with a slash', genericObject({ id: `${issuerId}.a/b` }), 400, 'invalid'],
  ['another issuer', genericObject({ id: '1.pass' }), 403, 'permissionDenied'],
  ['no header', genericObject({ header: undefined }), 400, 'invalid'],
  ['no class', genericObject({ classId: `${issuerId}.nowhere` }), 404, 'classNotFound'],
  ['an unknown state', genericObject({ state: 'GONE' }), 400, 'invalid'],
  ['a dot in the id of a text module', genericObject({ textModulesData: [{ id: 'a.b', body: 'x' }] }), 400, 'invalid'],
  ['a list', [], 400, 'invalid'],
])('rejects an object with %s', async (_, object, status, reason) => {
  const rest = await authorized(await startGoogle())
  await rest('POST', '/genericClass', genericClass())
  expect(reasonOf(await rest('POST', '/genericObject', object))).toEqual([status, reason])
})

test('other kinds require the fields that Google requires', async () => {
  const rest = await authorized(await startGoogle())
  const common = { issuerName: 'Example', reviewStatus: 'UNDER_REVIEW' }
  const eventName = { defaultValue: { language: 'en', value: 'Fair' } }
  const id = `${issuerId}.c`
  expect(reasonOf(await rest('POST', '/eventTicketClass', { id, ...common }))).toEqual([400, 'invalid'])
  expect((await rest('POST', '/eventTicketClass', { id, ...common, eventName })).json).toMatchObject({
    reviewStatus: 'approved',
  })
  const transit = { id: `${issuerId}.t`, ...common, transitType: 'BUS' }
  expect(reasonOf(await rest('POST', '/transitClass', { ...transit, transitType: undefined }))).toEqual([
    400,
    'invalid',
  ])
  expect((await rest('POST', '/transitClass', transit)).status).toBe(200)
  // Google can fetch logos from a server with an https address, so they are required.
  const callbackOptions = { url: 'https://passes.example/google/callbacks' }
  const reached = { ...transit, id: `${issuerId}.t2`, callbackOptions }
  expect(reasonOf(await rest('POST', '/transitClass', reached))).toEqual([400, 'invalid'])
  expect(reasonOf(await rest('POST', '/nothingClass', { id }))).toEqual([404, 'notFound'])
})

test('an ID is unique among all kinds, and an object moves only to an existing class', async () => {
  const rest = await filled(await startGoogle())
  const offer = { issuerName: 'E', reviewStatus: 'UNDER_REVIEW', title: 'T', provider: 'P', redemptionChannel: 'BOTH' }
  const taken = { id: `${issuerId}.template-1`, ...offer }
  expect(reasonOf(await rest('POST', '/offerClass', taken))).toEqual([409, 'existingResource'])
  const classId = `${issuerId}.template-2`
  expect(reasonOf(await rest('PATCH', path, { classId }))).toEqual([404, 'classNotFound'])
  await rest('POST', '/genericClass', { id: classId })
  expect((await rest('PATCH', path, { classId })).json).toMatchObject({ classId })
})

test('an object accepts three notifying messages in 24 hours, and ten of all kinds', async () => {
  const google = await startGoogle()
  const rest = await filled(google)
  for (const n of [1, 2, 3]) expect((await rest('POST', `${path}/addMessage`, message(n))).status).toBe(200)
  expect(reasonOf(await rest('POST', `${path}/addMessage`, message(4)))).toEqual([403, 'quotaExceeded'])
  // A repeated message does not count again.
  expect((await rest('POST', `${path}/addMessage`, message(3))).status).toBe(200)
  for (const n of [4, 5, 6, 7, 8, 9, 10]) {
    expect((await rest('POST', `${path}/addMessage`, message(n, 'TEXT'))).status).toBe(200)
  }
  expect(reasonOf(await rest('POST', `${path}/addMessage`, message(11, 'TEXT')))).toEqual([400, 'invalid'])
  google.wait(24 * HOUR_MS)
  const later = await authorized(google)
  await later('PATCH', path, { messages: [message(10).message] })
  const { json } = await later('POST', `${path}/addMessage`, message(12))
  expect((json as { resource: { messages: unknown[] } }).resource.messages).toHaveLength(2)
})

test('resources and the quota survive a restart', async () => {
  const stateFile = join(temporaryFolder(), 'google-wallet')
  const first = await startGoogle({ stateFile })
  const rest = await filled(first)
  for (const n of [1, 2, 3]) await rest('POST', `${path}/addMessage`, message(n))
  const { json: keys } = await call('GET', first.keysUrl)
  await first.close()
  const second = await startGoogle({ stateFile })
  const again = await authorized(second)
  expect((await again('GET', path)).json).toMatchObject({ header: genericObject().header })
  expect(reasonOf(await again('POST', `${path}/addMessage`, message(4)))).toEqual([403, 'quotaExceeded'])
  const { json: keysAfter } = await call('GET', second.keysUrl)
  expect(keyValueOf(keysAfter)).toBe(keyValueOf(keys))
})

const keyValueOf = (json: unknown) => (json as { keys: { keyValue: string }[] }).keys[0]?.keyValue

test.each([
  ['google-429', 429, 'rateLimitExceeded'],
  ['google-500', 500, 'backendError'],
  ['google-503', 503, 'backendError'],
] as const)(
  'with the fault %s every call fails accordingly until the fault is removed',
  async (fault, status, reason) => {
    const google = await startGoogle({ faults: [fault] })
    const rest = await authorized(google)
    expect(reasonOf(await rest('GET', path))).toEqual([status, reason])
    await call('POST', `${google.url}/faults`, { faults: [] })
    expect((await rest('GET', path)).status).toBe(404)
  },
)

test('with the fault google-quota no message can notify, and with google-slow responses take over a second', async () => {
  const google = await startGoogle()
  const rest = await filled(google)
  await call('POST', `${google.url}/faults`, { faults: ['google-quota', 'google-slow'] })
  const startedAt = performance.now()
  expect(reasonOf(await rest('POST', `${path}/addMessage`, message(1)))).toEqual([403, 'quotaExceeded'])
  expect(performance.now() - startedAt).toBeGreaterThan(1_000)
})

test('the client of this service gets tokens and makes its calls', async () => {
  const google = await startGoogle()
  const api = createGoogleApi({ identity, endpoints: { api: google.apiUrl, token: google.tokenUrl } })
  await api.upsertClass('generic', genericClass())
  await api.upsertClass('generic', genericClass())
  await api.updateObject('generic', genericObject())
  await api.upsertObject('generic', genericObject({ state: 'INACTIVE', textModulesData: undefined }))
  const object = await api.getObject('generic', `${issuerId}.pass-1`)
  expect(object).toMatchObject({ state: 'INACTIVE' })
  expect(object).not.toHaveProperty('textModulesData')
  for (const n of [1, 2, 3]) await api.addMessage('generic', `${issuerId}.pass-1`, message(n).message)
  await expect(api.addMessage('generic', `${issuerId}.pass-1`, message(4).message)).rejects.toMatchObject({
    kind: 'quota',
    status: 403,
  })
})
