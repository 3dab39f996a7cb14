import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const cleanUp = cleanUpAfterAll()
let server: TestServer

beforeAll(async () => {
  server = await hostServer({ cleanUp })
})

const SLOW_SOCKETS = isLong ? 1_000 : 300

/** Node.js checks every half second for headers that take longer than 10 s. */
const CLOSED_WITHIN_MS = 12_000

test('closes sockets that send headers slowly, also of a second request, and serves others in the meantime', async () => {
  const closings: Promise<number>[] = []
  const sockets = await Promise.all(
    Array.from({ length: SLOW_SOCKETS }, async () => {
      const socket = await open()
      closings.push(livedMilliseconds(socket))
      return socket
    }),
  )
  const kept = await open()
  const answered = once(kept, 'data')
  kept.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await answered
  sockets.push(kept)
  closings.push(livedMilliseconds(kept))
  for (const socket of sockets) socket.write('GET /v1/passes HTTP/1.1\r\nHost: x\r\n')
  const dripping = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('X-Slow: 1\r\n')
  }, 2_000)
  onTestFinished(() => clearInterval(dripping))

  for (let n = 0; n < 50; n += 1) {
    const answer = await fetch(`${server.url}/healthz`)
    expect(answer.status).toBe(200)
  }
  const times = await Promise.all(closings)
  expect(Math.max(...times)).toBeLessThan(CLOSED_WITHIN_MS)
})

test.each([
  ['a header without end', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(100_000)}\r\n\r\n`, 431],
  ['thousands of headers', `GET /healthz HTTP/1.1\r\nHost: x\r\n${'X-Many: 1\r\n'.repeat(5_000)}\r\n`, 431],
  ['a header with a bare carriage return', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Odd: a\rb\r\n\r\n', 400],
  ['a header name with a space', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX Odd: a\r\n\r\n', 400],
  [
    'two lengths of one body',
    'POST /v1/passes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    400,
  ],
  [
    'a length in addition to chunks',
    'POST /v1/passes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
  ],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
  ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n', 400],
  ['a repeated host', 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n', 400],
])('rejects %s and serves the next request', async (_, request, status) => {
  const socket = await open()
  const answered = once(socket, 'data')
  socket.write(request)
  const [chunk] = await answered
  expect(String(chunk)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  socket.destroy()
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

test.each([
  ['a correlation id that would forge a line of the log', { 'x-correlation-id': '"}{"level":60' }],
  ['another host', { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher' }],
  ['another client address', { 'x-forwarded-for': '127.0.0.1, ::1, not an address' }],
  ['invalid conditions', { 'if-match': '"'.repeat(5_000), 'if-none-match': 'W/' }],
  ['a token with invalid bytes', { authorization: `Bearer pk_${'\u00ff'.repeat(500)}` }],
])('handles a request with %s safely', async (_, headers) => {
  const answer = await fetch(`${server.url}/v1/passes`, { headers: { 'x-api-key': server.token, ...headers } as never })
  expect([200, 400, 401]).toContain(answer.status)
  expect(await answer.text()).not.toContain('evil.example')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
})

test.each(['/l/forged', '/docs', '/healthz', '/readyz', '/openapi.json', '/nowhere', '/v1/passes', '/apple/v1/log'])(
  '%s has its declared type and sends no referrer to other sites',
  async (path) => {
    const answer = await fetch(`${server.url}${path}`, { headers: { accept: 'text/html' } })
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    if (!answer.headers.get('content-type')?.startsWith('text/html')) return
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(answer.headers.get('content-security-policy')).not.toMatch(/script-src[^;]*'unsafe-/)
  },
)

/** Resolves to the time from now until the socket closes. */
async function livedMilliseconds(socket: Socket): Promise<number> {
  const openedAt = performance.now()
  await new Promise((resolve) => socket.resume().once('close', resolve))
  return performance.now() - openedAt
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(server.url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}
