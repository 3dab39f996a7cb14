import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const cleanUp = cleanUpAfterAll()
let server: TestServer

beforeAll(async () => {
  server = await hostServer({ cleanUp })
})

const KIB = 1024

/** Routes with and without a token, and a body size above the limit of each. */
const routes = [
  ['/apple/v1/log', 'application/json', 64 * KIB + 1],
  ['/google/callbacks', 'application/json', 64 * KIB + 1],
  ['/google/callbacks', 'application/json', 20 * KIB * KIB],
  ['/v1/passes', 'application/json', KIB * KIB + 1],
  ['/v1/images', 'image/png', 6 * KIB * KIB],
] as const

test.each(routes)(
  '%s (%s) returns 413 for chunks of %i bytes in total, and the server keeps running',
  async (...route) => {
    const [path, contentType, bytes] = route
    for (let n = 0; n < 5; n += 1) {
      const request: RequestInit & { duplex: 'half' } = {
        method: 'POST',
        headers: { ...(path.startsWith('/v1/') && { 'x-api-key': server.token }), 'content-type': contentType },
        body: inChunks(bytes),
        duplex: 'half',
      }
      const answer = await fetch(`${server.url}${path}`, request)
      expect(answer.status).toBe(413)
      expect(await answer.json()).toMatchObject({ errorCode: 'INVALID_INPUT', message: 'The body is too large.' })
    }
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  },
)

test.each(routes)('%s (%s) rejects an announced body of %s bytes and closes the connection', async (...route) => {
  const [path, contentType, bytes] = route
  const { hostname, port } = new URL(server.url)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  const received = text(socket)
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      `X-API-Key: ${server.token}`,
      `Content-Type: ${contentType}`,
      `Content-Length: ${bytes}`,
      '\r\n',
    ].join('\r\n'),
  )
  const answer = await received
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
  expect(answer).toMatch(/^connection: close\r$/im)
  expect(answer).not.toMatch(/^keep-alive:/im)
})

/** Returns a body whose length is unknown until its end. */
function inChunks(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes
  return new ReadableStream({
    pull(controller) {
      const chunk = new Uint8Array(Math.min(left, 16 * KIB)).fill(0x20)
      left -= chunk.length
      controller.enqueue(chunk)
      if (left === 0) controller.close()
    },
  })
}
