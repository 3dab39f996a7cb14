import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCallbackVerifier, createRootKeys } from '../../../src/wallets/google/callbacks.ts'
import { temporaryFolder } from '../apple/fixtures.ts'
import {
  authorized,
  type Google,
  genericClass,
  genericObject,
  issuerId,
  message,
  receiver,
  saveJwt,
  startGoogle,
} from './google-support.ts'
import { call, listen } from './support.ts'

const objectId = `${issuerId}.pass-1`
const full = { genericClasses: [genericClass()], genericObjects: [genericObject()] }
const reference = { genericObjects: [{ id: objectId, classId: `${issuerId}.template-1` }] }

const save = (google: Google, jwt: string, device = 'phone-1') => call('POST', `${google.url}/save`, { jwt, device })
const remove = (google: Google, device = 'phone-1') =>
  call('POST', `${google.url}/remove`, { kind: 'generic', objectId, device })

test('a full link creates class and object, and its phone sees both', async () => {
  const google = await startGoogle()
  const { status, json } = await save(google, saveJwt(full))
  expect(status).toBe(200)
  expect(json).toMatchObject({ kind: 'generic', class: genericClass(), object: { state: 'active', hasUsers: true } })
  expect((await call('GET', `${google.url}/objects/generic/${objectId}`)).json).toEqual(json)
})

test('a link to an object requires it to exist, and no link changes an existing object', async () => {
  const google = await startGoogle()
  expect((await save(google, saveJwt(reference))).status).toBe(404)
  await save(google, saveJwt(full))
  const other = { ...full, genericObjects: [genericObject({ state: 'EXPIRED' })] }
  expect((await save(google, saveJwt(other), 'phone-2')).json).toMatchObject({ object: { state: 'active' } })
  expect((await save(google, saveJwt(reference), 'phone-3')).status).toBe(200)
})

const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
test.each([
  ['another key', saveJwt(full, {}, stranger)],
  ['another issuer', saveJwt(full, { iss: 'somebody@example.com' })],
  ['another audience', saveJwt(full, { aud: 'apple' })],
  ['another type', saveJwt(full, { typ: 'JWT' })],
  ['nothing to save', saveJwt({ genericClasses: [genericClass()] })],
  ['two classes of a kind', saveJwt({ ...full, genericClasses: [genericClass(), genericClass()] })],
  ['a class of another kind', saveJwt({ ...full, loyaltyClasses: [genericClass()] })],
  ['an object that Google would reject', saveJwt({ ...full, genericObjects: [genericObject({ header: undefined })] })],
  ['nonsense', 'nonsense'],
])('a link with %s saves nothing', async (_, jwt) => {
  const google = await startGoogle()
  expect((await save(google, jwt)).status).toBe(400)
  expect((await call('GET', `${google.url}/objects/generic/${objectId}`)).status).toBe(404)
})

interface Envelope {
  signature: string
  intermediateSigningKey: { signedKey: string; signatures: string[] }
  protocolVersion: string
  signedMessage: string
}

/** Verifies a signature independently, according to Google's description. */
function isGenuine(body: string, rootKeys: { keyValue: string }[]): boolean {
  const { signature, intermediateSigningKey, protocolVersion, signedMessage } = JSON.parse(body) as Envelope
  const { signedKey, signatures } = intermediateSigningKey
  const framed = (...parts: string[]) =>
    Buffer.concat(
      parts.flatMap((part) => [
        Buffer.from(new Uint32Array([Buffer.byteLength(part)]).buffer),
        Buffer.from(part, 'utf8'),
      ]),
    )
  const check = (keyValue: string, data: Buffer, given: string) => {
    const key = createPublicKey({ key: Buffer.from(keyValue, 'base64'), format: 'der', type: 'spki' })
    return verify('sha256', data, key, Buffer.from(given, 'base64'))
  }
  const { keyValue } = JSON.parse(signedKey) as { keyValue: string }
  return (
    rootKeys.some((root) =>
      signatures.some((given) => check(root.keyValue, framed('GooglePayPasses', protocolVersion, signedKey), given)),
    ) && check(keyValue, framed('GooglePayPasses', issuerId, protocolVersion, signedMessage), signature)
  )
}

test('reports each save and removal with a signature chain to the published root key', async () => {
  const { url, received } = await receiver()
  const google = await startGoogle({ callbackUrl: url })
  await save(google, saveJwt(full))
  // Saving a pass that the phone already has is not an addition.
  await save(google, saveJwt(reference))
  await received(1)
  expect((await remove(google)).status).toBe(204)
  expect((await remove(google)).status).toBe(404)
  const bodies = await received(2)

  const keys = await call('GET', google.keysUrl)
  expect(keys.headers['cache-control']).toBe('public, max-age=3600')
  const { keys: rootKeys } = keys.json as { keys: { keyValue: string; protocolVersion: string }[] }
  expect(rootKeys).toMatchObject([{ protocolVersion: 'ECv2SigningOnly' }])
  expect(bodies.map((body) => isGenuine(body, rootKeys))).toEqual([true, true])
  expect(isGenuine(bodies[0]!.replace('\\"save\\"', '\\"del\\"'), rootKeys)).toBe(false)
  expect((JSON.parse(bodies[0]!) as Envelope).intermediateSigningKey.signedKey).toContain('\\u003d')

  const messages = bodies.map((body) => JSON.parse((JSON.parse(body) as Envelope).signedMessage))
  expect(messages).toMatchObject([
    { eventType: 'save', objectId, classId: `${issuerId}.template-1` },
    { eventType: 'del', objectId, classId: `${issuerId}.template-1` },
  ])
  expect(messages[0].nonce).not.toBe(messages[1].nonce)
  expect(messages[0].expTimeMillis).toBeGreaterThan(Date.now())

  const verifier = createCallbackVerifier(issuerId, createRootKeys({ url: google.keysUrl, clock: () => new Date() }))
  expect(await verifier.verify(JSON.parse(bodies[0]!), new Date())).toMatchObject({ ok: true })
})

test('resends a rejected callback unchanged', async () => {
  const { url, received } = await receiver([500, 200])
  const google = await startGoogle({ callbackUrl: url })
  await save(google, saveJwt(full))
  const [first, second] = await received(2)
  expect(second).toBe(first)
})

test('a phone is notified of each change of its object and class, and of no others', async () => {
  const google = await startGoogle()
  const rest = await authorized(google)
  await save(google, saveJwt(full))
  const other = genericObject({ id: `${issuerId}.pass-2` })
  await save(google, saveJwt({ genericObjects: [other] }), 'phone-2')
  const next = await listen(`${google.url}/devices/phone-1/changes`)
  const versionOf = async () => {
    const { json } = await call('GET', `${google.url}/objects/generic/${objectId}`)
    return (json as { version: number }).version
  }
  const before = await versionOf()
  await rest('PATCH', `/genericObject/${issuerId}.pass-2`, { state: 'EXPIRED' })
  await rest('PATCH', `/genericObject/${objectId}`, { state: 'EXPIRED' })
  expect(await next()).toEqual({ changed: objectId })
  const changed = await versionOf()
  expect(changed).toBeGreaterThan(before)
  await rest('POST', `/genericObject/${objectId}/addMessage`, message(1))
  expect(await next()).toEqual({ changed: objectId })
  await rest('PUT', `/genericClass/${issuerId}.template-1`, genericClass({ classTemplateInfo: {} }))
  expect(await next()).toEqual({ changed: `${issuerId}.template-1` })
  expect(await versionOf()).toBeGreaterThan(changed)
})

test('holders survive a restart', async () => {
  const stateFile = join(temporaryFolder(), 'google-wallet')
  const first = await startGoogle({ stateFile })
  await save(first, saveJwt(full))
  await first.close()
  const second = await startGoogle({ stateFile })
  expect((await remove(second, 'phone-2')).status).toBe(404)
  expect((await remove(second)).status).toBe(204)
})
