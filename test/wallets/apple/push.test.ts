import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import { createApplePush } from '../../../src/wallets/apple/push.ts'
import { sandboxChain } from '../../support/chains.ts'
import { startApns, topic } from '../sandbox/apns-support.ts'

/** A TCP proxy. A connection that was open when it became silent transports nothing and is not closed. */
async function startProxy(target: { address: string; port: number }) {
  const silenced = new WeakSet<Socket>()
  const open = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(target.port, target.address)
    open.add(client)
    client.on('data', (data) => silenced.has(client) || server.write(data))
    server.on('data', (data) => silenced.has(client) || client.write(data))
    client.on('error', () => client.destroy()).on('close', () => open.delete(client) && server.destroy())
    server.on('error', () => server.destroy()).on('close', () => client.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    proxy.close()
  })
  return {
    port: (proxy.address() as AddressInfo).port,
    open,
    silence() {
      for (const socket of open) silenced.add(socket)
    },
  }
}

test('opens a new connection after one on which no push gets a response', async () => {
  const ids = { passTypeIdentifier: topic, teamIdentifier: 'SANDBOX123' }
  const chain = await sandboxChain(ids)
  const apns = await startApns(chain)
  const proxy = await startProxy(apns)
  const file = (pem: string) => ({ source: 'a test', pem: Buffer.from(pem) })
  const credentials = {
    certificate: file(chain.certificatePem),
    key: file(chain.keyPem),
    wwdr: file(chain.wwdrPem),
  }
  const push = createApplePush({
    identity: parseAppleIdentity({ ...credentials, ...ids }, new Date()),
    server: { address: apns.address, port: proxy.port, ca: chain.rootPem },
    timeoutMs: 500,
  })
  onTestFinished(() => push.close())
  const token = apns.newDeviceToken(topic)
  const outcome = async () => (await push.send([token]))[0]?.outcome
  expect(await outcome()).toBe('sent')
  proxy.silence()
  expect(await outcome()).toBe('failed')
  expect(await outcome()).toBe('sent')
  await expect.poll(() => proxy.open.size).toBe(1)
})
