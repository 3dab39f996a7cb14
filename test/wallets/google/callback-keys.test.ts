import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCallbackVerifier, createRootKeys } from '../../../src/wallets/google/callbacks.ts'
import { callback, issuerId, keysFile, later, makeKey, root } from './callback-samples.ts'
import { at } from './samples.ts'

let server: Server
let url: string
let asked: number
let answer: { status: number; body: unknown; cacheControl?: string }
let now: Date

beforeEach(async () => {
  asked = 0
  now = at
  answer = { status: 200, body: keysFile(root), cacheControl: 'public, max-age=3600' }
  server = createServer((_, response) => {
    asked += 1
    const { status, body, cacheControl } = answer
    response.writeHead(status, cacheControl ? { 'cache-control': cacheControl } : {})
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const seconds = (count: number) => {
  now = new Date(now.getTime() + count * 1000)
}
const rootKeys = () => createRootKeys({ url, clock: () => now })
const other = makeKey()

test('concurrent callers share one request', async () => {
  const keys = rootKeys()
  const all = await Promise.all([keys.current(), keys.current(), keys.refreshed(), keys.refreshed()])
  expect(all.map(({ length }) => length)).toEqual([1, 1, 1, 1])
  expect(asked).toBe(1)
})

test('caches the keys exactly as long as their response allows', async () => {
  const keys = rootKeys()
  await keys.current()
  seconds(3599)
  await keys.current()
  expect(asked).toBe(1)
  answer.body = keysFile(root, other)
  seconds(1)
  expect(await keys.current()).toHaveLength(2)
  expect(asked).toBe(2)
})

test('caches a response with no-store for a minute', async () => {
  answer.cacheControl = 'no-store'
  const keys = rootKeys()
  await keys.current()
  seconds(59)
  await keys.current()
  expect(asked).toBe(1)
  seconds(1)
  await keys.current()
  expect(asked).toBe(2)
})

test('fetches keys for unknown ones at most once a minute', async () => {
  const keys = rootKeys()
  await keys.current()
  seconds(59)
  for (let n = 0; n < 20; n++) await keys.refreshed()
  expect(asked).toBe(1)
  seconds(1)
  for (let n = 0; n < 20; n++) await keys.refreshed()
  expect(asked).toBe(2)
})

test('omits keys that have expired, have another protocol, or cannot be read', async () => {
  const file = keysFile(
    { publicKey: root.publicKey, expiresAt: later(10_000) },
    { publicKey: other.publicKey, expiresAt: at },
    { publicKey: makeKey().publicKey, protocolVersion: 'ECv1' },
  )
  answer.body = {
    keys: [...file.keys, { keyValue: 'AAAA', protocolVersion: 'ECv2SigningOnly', keyExpiration: '9999999999999' }, 7],
  }
  const keys = rootKeys()
  const current = await keys.current()
  expect(current.map(({ publicKey }) => publicKey.equals(root.publicKey))).toEqual([true])
  seconds(10)
  expect(await keys.current()).toEqual([])
})

test.each([
  ['500', { status: 500, body: '' }],
  ['no JSON', { status: 200, body: '<html>' }],
  ['no keys', { status: 200, body: { keys: [] } }],
])('known keys keep working if the response is %s, with one request per minute', async (_, failure) => {
  const keys = rootKeys()
  await keys.current()
  answer = failure
  seconds(3600)
  expect(await keys.current()).toHaveLength(1)
  expect(await keys.current()).toHaveLength(1)
  expect(asked).toBe(2)
  seconds(60)
  answer = { status: 200, body: keysFile(root, other) }
  expect(await keys.current()).toHaveLength(2)
})

test('without any keys, reports the failure, and the next caller retries', async () => {
  const good = answer
  answer = { status: 503, body: '' }
  const keys = rootKeys()
  await expect(keys.current()).rejects.toMatchObject({ name: 'GoogleApiError', kind: 'unavailable' })
  answer = good
  expect(await keys.current()).toHaveLength(1)
})

test('accepts a callback under a new root key after fetching the keys again', async () => {
  const verifier = createCallbackVerifier(issuerId, rootKeys())
  expect(await verifier.verify(callback(), now)).toMatchObject({ ok: true })
  answer.body = keysFile(root, other)
  const body = callback({ rootPrivateKey: other.privateKey })
  expect(await verifier.verify(body, now)).toEqual({ ok: false, reason: 'intermediate key not signed by a root key' })
  seconds(60)
  expect(await verifier.verify(body, now)).toMatchObject({ ok: true })
  expect(asked).toBe(2)
})

test('an otherwise invalid callback fetches no keys', async () => {
  const verifier = createCallbackVerifier(issuerId, rootKeys())
  await verifier.verify(callback(), now)
  seconds(60)
  for (const body of [null, { ...callback(), signature: '' }, callback({ message: { expTimeMillis: 1 } })]) {
    expect(await verifier.verify(body, now)).toMatchObject({ ok: false })
  }
  expect(asked).toBe(1)
})
