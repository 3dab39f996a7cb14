import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type ClientOptions, ConnectionError, createClient, TimeoutError } from '../../src/client/client.ts'

const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const timeoutSeconds = 0.3

/** Creates a client for a scripted server. `taken` counts connections. */
async function clientOf(server: Server, options: Partial<ClientOptions> = {}) {
  const sockets = new Set<Socket>()
  const state = { taken: 0 }
  server.on('connection', (socket) => {
    sockets.add(socket)
    state.taken += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const client = createClient({ url, token: 'psk_test', timeoutSeconds, attempts: 1, ...options })
  onTestFinished(async () => {
    await client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { client, url, state }
}

const http = (listener: RequestListener) => createHttpServer(listener)
const head = { 'content-type': 'application/json', 'x-correlation-id': 'c-0' }

test('gives up on a silent server, naming the request, the server, and the timeout', async () => {
  const { client, url } = await clientOf(createServer())
  const error = await client.passes.get({ params: { id } }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(TimeoutError)
  expect(error).toBeInstanceOf(ConnectionError)
  expect(error).toMatchObject({
    timeoutSeconds,
    url,
    request: { method: 'GET', path: '/v1/passes/{id}' },
    message: expect.stringContaining(`${url} did not respond to GET /v1/passes/{id} within 0.3 s`),
  })
})

test.each([
  ['a passes server', head],
  ['any other server', { 'content-type': 'application/json' }],
])('a response of %s that stops in its middle is a timeout', async (_, headers) => {
  const { client } = await clientOf(
    http((_request, response) => {
      response.writeHead(200, headers)
      response.write('{"id":')
    }),
  )
  await expect(client.passes.get({ params: { id } })).rejects.toThrow(TimeoutError)
})

test('after a timeout, only requests that are safe to repeat are sent again', async () => {
  const silent = await clientOf(createServer(), { attempts: 2 })
  await expect(silent.client.projects.list()).rejects.toThrow(TimeoutError)
  expect(silent.state.taken).toBe(2)
  const { client, state } = await clientOf(createServer(), { attempts: 2 })
  await expect(client.projects.create({ body: { name: 'x' } })).rejects.toThrow(TimeoutError)
  expect(state.taken).toBe(1)
})

test('a response can take longer than the timeout while its bytes arrive', async () => {
  const body = JSON.stringify({ id, name: 'x'.repeat(20) })
  const { client } = await clientOf(
    http(async (_, response) => {
      response.writeHead(200, head)
      for (const character of body) {
        response.write(character)
        await sleep(20)
      }
      response.end()
    }),
    // A timeout that is much longer than a pause between two chunks on a busy machine.
    { timeoutSeconds: 1 },
  )
  expect(await client.projects.get({ params: { id } })).toEqual(JSON.parse(body))
})

test('an upload may take longer than the limit for as long as its bytes flow', async () => {
  const size = 24 * 1024 * 1024
  let seen = 0
  const server = http(async (request, response) => {
    for await (const chunk of request) {
      seen += (chunk as Buffer).length
      // Pause only in the first half. The server reads the rest from the sockets while the client waits for the response.
      if (seen < size / 2) await sleep(8)
    }
    response.writeHead(201, head)
    response.end(JSON.stringify({ id }))
  })
  const { client } = await clientOf(server, { timeoutSeconds: 1 })
  const startedAt = performance.now()
  expect(await client.projects.create({ body: { name: 'x'.repeat(size) } })).toEqual({ id })
  expect(seen).toBeGreaterThan(size)
  // The upload must take longer than the timeout, or the test would prove nothing.
  expect(performance.now() - startedAt).toBeGreaterThan(1_000)
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 3_601])('rejects a limit of %d s', (seconds) => {
  expect(() => createClient({ url: 'http://127.0.0.1:1', token: 't', timeoutSeconds: seconds })).toThrow(RangeError)
})
