import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ConnectionsOptions } from '../../../src/server/boot/connections.ts'
import { choosePort, startListener } from '../../../src/server/boot/listener.ts'
import { eventually } from '../../support/eventually.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

const host = '127.0.0.1'

/** Starts a listener on a free port. `refused` holds its reasons for closing connections. */
async function start(handler: Handler, options: Partial<ConnectionsOptions> = {}) {
  const refused: string[] = []
  const port = await choosePort({ host, port: 0 })
  const onRejected = (reason: string) => void refused.push(reason)
  const listener = await startListener(host, port, handler, {
    maxConnections: 100,
    isDirect: true,
    onRejected,
    ...options,
  })
  onTestFinished(() => listener.close())
  const open = async () => {
    const socket = connect({ host, port })
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { open, refused, close: () => listener.close() }
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`

/** Returns everything that a connection received until it was closed. A reset while data is still being sent closes it too. */
async function received(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return text
}

test('reports a port that is taken after the check as in use', async () => {
  const port = await choosePort({ host, port: 0 })
  const other = createServer().listen(port, host)
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const options = { maxConnections: 100, isDirect: true, onRejected: () => undefined }
  await expect(startListener(host, port, () => undefined, options)).rejects.toThrow(
    `Cannot listen on ${host}:${port}: it is in use. Choose another address with --port or --host.`,
  )
})

test('reports an address of another machine', async () => {
  await expect(choosePort({ host: '203.0.113.9', port: 0 })).rejects.toThrow(
    'Cannot listen on 203.0.113.9:0: this machine has no such address. Choose another address with --port or --host.',
  )
})

test('an address whose connections keep being closed for pipelining is blocked for a while', async () => {
  let answered = 0
  const timeouts = { heldMs: 300 }
  const { open, refused } = await start(
    (_, response) => {
      answered += 1
      response.end()
    },
    { timeouts },
  )
  for (let n = 0; n < 5; n += 1) {
    const socket = await open()
    socket.write(get('/').repeat(600))
    await received(socket)
  }
  expect(refused).toEqual(Array(5).fill('too many concurrent requests on one connection'))
  const before = answered
  const openedAt = performance.now()
  const next = await open()
  next.write(get('/'))
  expect(await received(next)).toBe('')
  expect([answered, performance.now() - openedAt > timeouts.heldMs / 2]).toEqual([before, true])
  expect(refused.slice(5)).toEqual(['connections of this address were recently closed'])
})

test('bytes sent after the request that closes a connection are not parsed', async () => {
  let parsed = 0
  const count = () => {
    parsed += 1
  }
  subscribe('http.server.request.start', count)
  onTestFinished(() => void unsubscribe('http.server.request.start', count))
  const { open, refused } = await start((_, response) => void response.end())
  const socket = await open()
  socket.write(get('/').repeat(600))
  await received(socket)
  expect(refused).toEqual(['too many concurrent requests on one connection'])
  expect(parsed).toBeLessThan(20)
})

test('a connection has one request in work at a time, and responses in order', async () => {
  let [inWork, most] = [0, 0]
  const { open, refused } = await start(async ({ url }, response) => {
    inWork += 1
    most = Math.max(most, inWork)
    await new Promise((resolve) => setImmediate(resolve))
    inWork -= 1
    response.end(`answer to ${url};`)
  })
  const socket = await open()
  const paths = Array.from({ length: 12 }, (_, n) => `/${n}`)
  socket.write(
    paths
      .slice(0, 11)
      .map((path) => get(path))
      .join('') + get('/11', 'Connection: close\r\n'),
  )
  const answers = [...(await received(socket)).matchAll(/answer to (\S+);/g)].map(([, path]) => path)
  expect([answers, most, refused]).toEqual([paths, 1, []])
})

test('reads the body of a pipelined request after the previous request', async () => {
  const { open } = await start(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.end(`body of ${body.length};`)
  })
  const socket = await open()
  const post = (bytes: number, more = '') =>
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n${more}\r\n${'x'.repeat(bytes)}`
  socket.write(post(10) + post(300_000) + post(5, 'Connection: close\r\n'))
  expect([...(await received(socket)).matchAll(/body of (\d+);/g)].map(([, bytes]) => bytes)).toEqual([
    '10',
    '300000',
    '5',
  ])
})

test('a connection that sends hundreds of requests at once is closed', async () => {
  let handled = 0
  const { open, refused } = await start((_, response) => {
    handled += 1
    setImmediate(() => response.end('x'.repeat(100_000)))
  })
  const socket = await open()
  socket.write(get('/').repeat(600))
  await received(socket)
  expect(refused).toEqual(['too many concurrent requests on one connection'])
  expect(handled).toBe(1)
})

test('closes a client that reads no response, after at most one of them', async () => {
  let handled = 0
  const large = Buffer.alloc(20 * 1024 * 1024)
  const { open, refused } = await start(
    (_, response) => {
      handled += 1
      response.end(large)
    },
    { timeouts: { unreadMs: 300 } },
  )
  const socket = await open()
  socket.pause().write(get('/').repeat(10))
  await eventually(() => expect(refused).toEqual(['response not read']))
  expect(handled).toBe(1)
})

test('waits for a slow handler', async () => {
  // The handler responds after the timeout for unread responses.
  const handler: Handler = ({ socket }, response) => socket.once('timeout', () => response.end('late'))
  const { open } = await start(handler, { timeouts: { unreadMs: 300 } })
  const socket = await open()
  socket.write(get('/', 'Connection: close\r\n'))
  expect(await received(socket)).toContain('late')
})

test.each([
  ['is 408', (request: IncomingMessage) => void request.resume(), 408],
  [
    'of a request that was answered before is not waited for',
    (_: unknown, response: ServerResponse) => response.end(),
    200,
  ],
])('closes the connection of a body that drips %s', async (_, handler, status) => {
  const { open, refused } = await start(handler, { timeouts: { bodyMs: 100, bodyBytes: 1_000 } })
  const socket = await open()
  const answer = received(socket)
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')
  const dripping = setInterval(() => socket.writable && socket.write('x'), 20)
  onTestFinished(() => clearInterval(dripping))
  expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(refused).toEqual(['body sent too slowly'])
})

test('accepts a slow but steady body', async () => {
  // The search for slow bodies uses a clock that is stopped until part of this body has arrived.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const progress = new EventEmitter()
  const { open, refused } = await start(
    async (request, response) => {
      let bytes = 0
      progress.emit('begun')
      for await (const chunk of request) {
        bytes += chunk.length
        progress.emit('taken', bytes)
      }
      response.end(`took ${bytes}`)
    },
    { timeouts: { bodyMs: 100, bodyBytes: 2 } },
  )
  const socket = await open()
  const answer = received(socket)
  const begun = once(progress, 'begun')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 80\r\n\r\n')
  await begun
  for (let bytes = 2; bytes <= 80; bytes += 2) {
    const taken = once(progress, 'taken')
    socket.write('xx')
    expect(await taken).toEqual([bytes])
    vi.advanceTimersByTime(500)
  }
  expect(await answer).toContain('took 80')
  expect(refused).toEqual([])
})

test('one address gets at most half of the connections, and all together the maximum', async () => {
  const handler: Handler = (_, response) => response.end('ok')
  const direct = await start(handler, { maxConnections: 4 })
  const proxied = await start(handler, { maxConnections: 4, isDirect: false })
  for (const [{ open, refused }, room, reason] of [
    [direct, 2, 'too many connections of one address'],
    [proxied, 4, 'too many connections'],
  ] as const) {
    const sockets = await Promise.all(Array.from({ length: room }, open))
    const extra = await open()
    await received(extra)
    expect(refused).toEqual([reason])
    sockets[0]!.write(get('/', 'Connection: close\r\n'))
    expect(await received(sockets[0]!)).toContain('200 OK')
    // The server accepts new connections again.
    await eventually(async () => {
      const next = await open()
      next.write(get('/', 'Connection: close\r\n'))
      expect(await received(next)).toContain('200 OK')
    })
  }
})

test('a stopping listener serves a request that follows on a connection that was just accepted', async () => {
  const { open, close } = await start((_, response) => void response.end('served'))
  const [first, silent, kept] = [await open(), await open(), await open()]
  kept.write(get('/'))
  await once(kept, 'data')
  const closed = close()
  const text = received(first)
  await setTimeout(50)
  first.write(get('/'))
  expect(await text).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)*Connection: close\r\n/i)
  expect(await text).toContain('served')
  await closed
  expect(await Promise.all([received(silent), received(kept)])).toEqual(['', ''])
})

test('a stopping listener closes a connection after a response that had begun', async () => {
  let response: ServerResponse | undefined
  const { open, close } = await start((_, started) => {
    started.write('begun')
    response = started
  })
  const socket = await open()
  const text = received(socket)
  socket.write(get('/'))
  await eventually(() => expect(response).toBeDefined())
  const closed = close()
  await setTimeout(50)
  response!.end('ended')
  expect(await text).toContain('ended')
  await closed
})
