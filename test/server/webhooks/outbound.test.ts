import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createOutbound, isPublicAddress, type OutboundOptions } from '../../../src/server/webhooks/outbound.ts'
import { startReceiver } from '../../support/receiver.ts'

/** Hosts in URLs that the server must not send to. Names must not resolve to these addresses either. */
const addresses = {
  loopback: ['127.0.0.1', '127.1.2.3', '127.255.255.254', '[::1]', '[0:0:0:0:0:0:0:1]'],
  unspecified: ['0.0.0.0', '0.1.2.3', '[::]'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'shared by a carrier': ['100.64.0.1', '100.127.255.255', '100.100.100.200'],
  'link-local': ['169.254.0.1', '169.254.169.254', '169.254.170.2', '[fe80::1]', '[febf::1]'],
  'unique local': ['[fc00::1]', '[fd00:ec2::254]', '[fec0::1]'],
  metadata: ['168.63.129.16', '192.0.0.192'],
  'multicast and broadcast': ['224.0.0.1', '239.255.255.255', '255.255.255.255', '[ff02::1]'],
  'reserved and for documents': [
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '192.88.99.1',
    '[2001:db8::1]',
    '[3fff::1]',
    '[100::1]',
    '[2001:2::1]',
    '[5f00::1]',
    '[4000::1]',
  ],
  'IPv4 in IPv6': [
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:10.0.0.1]',
    '[::127.0.0.1]',
    '[::7f00:1]',
    '[::ffff:0:127.0.0.1]',
    '[::ffff:169.254.169.254]',
    '[::ffff:8.8.8.8]',
  ],
  NAT64: ['[64:ff9b::127.0.0.1]', '[64:ff9b::a00:1]', '[64:ff9b:1::10.0.0.1]'],
  '6to4 and Teredo': ['[2002:7f00:1::]', '[2002:a00:1::1]', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]'],
}

/** Hosts whose meaning only a URL parser sees. */
const disguises = [
  '2130706433',
  '0x7f000001',
  '0x7f.0x0.0x0.0x1',
  '017700000001',
  '0177.0.0.1',
  '127.1',
  '127.0.1',
  '0',
  '3232235521',
  '0xa9fea9fe',
  '2852039166',
  '%31%32%37.0.0.1',
  '①②⑦.0.0.1',
  '127。0。0。1',
  '127.0.0.1.',
  '0300.0250.0.1',
  '[0:0:0:0:0:ffff:7f00:0001]',
]

const localNames = ['localhost', 'LOCALHOST', 'localhost.', 'api.localhost', 'a.b.localhost.']

const literals = [...Object.values(addresses).flat(), ...disguises, ...localNames]

let port: number
let connections = 0
const canary = createServer((socket: Socket) => {
  connections += 1
  socket.destroy()
})

beforeAll(async () => {
  canary.listen(0, '::')
  await once(canary, 'listening')
  port = (canary.address() as AddressInfo).port
})
afterAll(() => void canary.close())

const open = (options: Partial<OutboundOptions> = {}) => {
  const outbound = createOutbound({ allowInsecure: false, ...options })
  onTestFinished(() => outbound.close())
  const post = (url: string) => outbound.post(url, '{}', {})
  return { ...outbound, post }
}

const forbidden = { responseCode: null, error: 'The address is not public.' }

test('the corpus holds at least 60 addresses', () => {
  expect(new Set(literals).size).toBeGreaterThanOrEqual(60)
})

test.each(literals)('rejects %s as written, and never connects to it', async (host) => {
  const outbound = open()
  const before = connections
  expect(outbound.rejection(`https://${host}:${port}/`)).toBe(forbidden.error)
  expect(await outbound.post(`https://${host}:${port}/`)).toEqual(forbidden)
  expect(connections).toBe(before)
})

describe.each(Object.entries(addresses))('a name that resolves to an address that is %s', (_, hosts) => {
  test.each(hosts.map((host) => host.replace(/[[\]]/g, '')))('never connects to %s', async (address) => {
    const before = connections
    expect(await open({ resolve: async () => [address] }).post(`https://hooks.example:${port}/`)).toEqual(forbidden)
    expect(connections).toBe(before)
  })
})

test('rejects a name if one of its addresses is not public', async () => {
  const before = connections
  for (const resolved of [
    ['93.184.215.14', '127.0.0.1'],
    ['::1', '93.184.215.14'],
  ]) {
    expect(await open({ resolve: async () => resolved }).post(`https://hooks.example:${port}/`)).toEqual(forbidden)
  }
  expect(connections).toBe(before)
})

test('a name that changes between check and connection is resolved once, and that address is checked', async () => {
  const answers = [['127.0.0.1'], ['93.184.215.14']]
  let asked = 0
  const before = connections
  const outbound = open({ resolve: async () => answers[asked++]! })
  expect(await outbound.post(`https://hooks.example:${port}/`)).toEqual(forbidden)
  expect([asked, connections]).toEqual([1, before])
})

test('each connection is checked again: a name that now resolves to an internal address is rejected', async () => {
  let isAllowed = true
  const outbound = open({ resolve: async () => ['127.0.0.1'], isPublic: () => isAllowed })
  const before = connections
  expect((await outbound.post(`https://hooks.example:${port}/`)).error).not.toBe(forbidden.error)
  isAllowed = false
  expect(await outbound.post(`https://hooks.example:${port}/`)).toEqual(forbidden)
  expect(connections).toBe(before + 1)
})

test('connects to the checked address with the requested host name', async () => {
  let hello = ''
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      hello = data.toString('latin1')
      socket.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const outbound = open({ resolve: async () => ['127.0.0.1'], isPublic: (address) => address === '127.0.0.1' })
  await outbound.post(`https://hooks.example:${(server.address() as AddressInfo).port}/`)
  expect(hello).toContain('hooks.example')
})

test.each(['http://hooks.example/', 'ftp://hooks.example/', 'https://a:b@hooks.example/', 'https://hooks.example/#x'])(
  'rejects %s',
  async (url) => {
    const outbound = open({ resolve: async () => ['93.184.215.14'] })
    expect(outbound.rejection(url)).toMatch(/^Must/)
    expect((await outbound.post(url)).responseCode).toBeNull()
  },
)

test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450:4001:82a::200e'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
    const host = address.includes(':') ? `[${address}]` : address
    expect(open().rejection(`https://${host}/`)).toBeUndefined()
  },
)

test('reads at most 64 KiB of a response', async () => {
  const receiver = await startReceiver()
  let written = 0
  const closed = new Promise<void>((resolve) => {
    receiver.reply((response) => {
      response.writeHead(200, { 'content-length': 2 ** 30 })
      response.on('close', resolve)
      const chunk = Buffer.alloc(16 * 1024)
      const more = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length
        written += chunk.length
      }
      response.on('drain', more)
      more()
    })
  })
  expect(await open({ allowInsecure: true }).post(receiver.url)).toEqual({ responseCode: 200, error: null })
  await closed
  // Allow for bytes in the buffers of both sockets, which were sent but not read.
  expect(written).toBeLessThan(16 * 1024 * 1024)
})

test('closes a connection that sends more than 64 KiB at once, before the timeout', async () => {
  const receiver = await startReceiver()
  const closed = new Promise<void>((resolve) => {
    receiver.reply((response) => {
      response.on('close', resolve)
      response.writeHead(200)
      response.write(Buffer.alloc(64 * 1024 + 1))
    })
  })
  const outbound = open({ allowInsecure: true, timeoutMs: 2 ** 30 })
  expect(await outbound.post(receiver.url)).toEqual({ responseCode: 200, error: null })
  await closed
})

test.each([
  ['an endless number of interim responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000), null],
  ['an endless chunk extension', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'x'.repeat(16 * 1024), 200],
])('reads at most 64 KiB of a response with %s', async (_, start, piece, responseCode) => {
  let written = 0
  let closed: Promise<void> | undefined
  const server = createServer((connection) => {
    connection.on('error', () => undefined)
    closed = new Promise((resolve) => {
      connection.once('close', () => {
        written = connection.bytesWritten
        resolve()
      })
    })
    connection.once('data', () => {
      connection.write(start)
      const more = () => {
        while (!connection.destroyed && connection.write(piece));
      }
      connection.on('drain', more)
      more()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const outbound = open({ allowInsecure: true, timeoutMs: 3_000 })
  expect(await outbound.post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).toEqual({
    responseCode,
    error: responseCode === null ? 'More than 64 KiB arrived without a complete response.' : null,
  })
  await closed
  // Allow for bytes in the buffers of both sockets, which were sent but not read.
  expect(written).toBeLessThan(16 * 1024 * 1024)
})

test('counts each response on a connection by itself', async () => {
  const receiver = await startReceiver()
  const outbound = open({ allowInsecure: true })
  const ports = new Set<number | undefined>()
  for (let n = 0; n < 6; n += 1) {
    receiver.reply((response) => {
      ports.add(response.socket?.remotePort)
      response.end('x'.repeat(60 * 1024))
    })
    expect(await outbound.post(receiver.url)).toEqual({ responseCode: 200, error: null })
  }
  // A request can begin before the connection of the previous one is free again.
  expect(ports.size).toBeLessThanOrEqual(2)
})

test('a missing or endless response takes at most the time of one attempt', async () => {
  const receiver = await startReceiver()
  const outbound = open({ allowInsecure: true, timeoutMs: 200 })
  receiver.reply(() => undefined)
  expect(await outbound.post(receiver.url)).toEqual({ responseCode: null, error: 'No response within 0.2 s.' })
  receiver.reply((response) => {
    response.writeHead(200)
    response.write('{')
  })
  expect(await outbound.post(receiver.url)).toEqual({ responseCode: 200, error: null })
})

test('errors do not contain the address of a host name', async () => {
  const refused = { resolve: async () => ['127.0.0.1'], isPublic: () => true }
  expect(await open(refused).post('https://hooks.example:9/')).toEqual({
    responseCode: null,
    error: 'The connection was refused.',
  })
  const unknown = async () => {
    throw Object.assign(new Error('queryA ENOTFOUND hooks.example 10.0.0.2'), { code: 'ENOTFOUND' })
  }
  expect((await open({ resolve: unknown }).post('https://hooks.example/')).error).toBe('Host not found.')
})
