import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { faultNames } from '../../../src/wallets/sandbox/faults.ts'
import { sandboxChain } from '../../support/chains.ts'
import { temporaryFolder } from '../apple/fixtures.ts'
import { type Apns, type StartOptions, startApns, topic } from './apns-support.ts'
import { at, call, listen } from './support.ts'

const names = { passTypeIdentifier: topic, teamIdentifier: 'SANDBOX123' }

let chain: SandboxApple
let stranger: SandboxApple
beforeAll(async () => {
  chain = await sandboxChain(names)
  stranger = await sandboxChain({ ...names, nth: 1 })
})

const start = (options: StartOptions = {}) => startApns(chain, options)

function open(apns: Apns, client: { cert?: string; key?: string } = credentials()): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${apns.port}`, { ca: chain.rootPem, ...client })
  session.on('error', () => session.destroy())
  onTestFinished(() => session.destroy())
  return session
}

const credentials = ({ certificatePem, keyPem } = chain) => ({ cert: certificatePem, key: keyPem })

interface PushOptions {
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

async function push(session: ClientHttp2Session, token: string, options: PushOptions = {}) {
  const { path = `/3/device/${token}`, method = 'POST', headers = { 'apns-topic': topic }, body = '{}' } = options
  const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: false })
  stream.end(body)
  const [answer] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream) text += chunk
  return { status: answer[':status'], id: answer['apns-id'], body: text === '' ? null : JSON.parse(text) }
}

test('accepts a push of {} and delivers it to a listening phone', async () => {
  const apns = await start()
  const { json } = await call('POST', `${apns.control}/tokens`, { topic })
  const { token } = json as { token: string }
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  const next = await listen(`${apns.control}/tokens/${token}/pushes`)
  const id = '0B7A7E1C-4E2B-4C8A-9A57-0D8F3C1E2A10'
  const sent = await push(open(apns), token, { headers: { 'apns-topic': topic, 'apns-id': id } })
  expect(sent).toEqual({ status: 200, id, body: null })
  expect(await next()).toEqual({ topic, apnsId: id, token })
})

test('a phone that was offline gets the newest push, once', async () => {
  const apns = await start()
  const token = apns.newDeviceToken()
  const session = open(apns)
  for (let n = 0; n < 4; n++) await push(session, token)
  const last = await push(session, token)
  const next = await listen(`${apns.control}/tokens/${token}/pushes`)
  expect(await next()).toEqual({ topic, apnsId: last.id, token })
  const another = await push(session, token)
  expect(await next()).toEqual({ topic, apnsId: another.id, token })
})

test("errors of a push have Apple's reasons", async () => {
  const apns = await start()
  const [token, retired, other] = [apns.newDeviceToken(topic), apns.newDeviceToken(), apns.newDeviceToken('pass.other')]
  apns.retireDeviceToken(retired)
  const session = open(apns)
  const refused = async (expected: [status: number, reason: string], device: string, options: PushOptions = {}) => {
    const { status, body } = await push(session, device, options)
    expect([status, body?.reason]).toEqual(expected)
  }
  for (const token of ['f'.repeat(62), 'f'.repeat(65), 'g'.repeat(64)]) await refused([400, 'BadDeviceToken'], token)
  await refused([400, 'BadDeviceToken'], 'nonsense')
  await refused([400, 'DeviceTokenNotForTopic'], other)
  await refused([400, 'MissingTopic'], token, { headers: {} })
  await refused([400, 'BadTopic'], token, { headers: { 'apns-topic': 'no topic' } })
  await refused([400, 'TopicDisallowed'], token, { headers: { 'apns-topic': 'pass.com.example.other' } })
  await refused([400, 'BadMessageId'], token, { headers: { 'apns-topic': topic, 'apns-id': '1' } })
  await refused([400, 'PayloadEmpty'], token, { body: '' })
  await refused([413, 'PayloadTooLarge'], token, { body: JSON.stringify({ filler: 'x'.repeat(4096) }) })
  await refused([404, 'BadPath'], token, { path: '/4/device' })
  await refused([405, 'MethodNotAllowed'], token, { method: 'PUT' })
  expect((await push(session, retired)).body).toEqual({ reason: 'Unregistered', timestamp: at.getTime() })
  expect((await push(session, retired)).status).toBe(410)
  expect((await push(session, token)).status).toBe(200)
})

test('accepts any well-formed token until it is retired, including unknown ones', async () => {
  const apns = await start()
  const session = open(apns)
  for (const token of ['f'.repeat(64), 'F0'.repeat(40), 'a'.repeat(200)]) {
    expect((await push(session, token)).status).toBe(200)
    apns.retireDeviceToken(token)
    expect((await push(session, token)).body).toEqual({ reason: 'Unregistered', timestamp: at.getTime() })
  }
})

test('accepts pushes only with a certificate of the sandbox root', async () => {
  const apns = await start()
  const token = apns.newDeviceToken()
  expect((await push(open(apns, credentials(stranger)), token)).body).toEqual({ reason: 'BadCertificate' })
  expect((await push(open(apns, {}), token)).body).toEqual({ reason: 'MissingProviderToken' })
})

test('device tokens and retired tokens survive a restart', async () => {
  const stateFile = join(temporaryFolder(), 'sandbox', 'device-tokens')
  const first = await start({ stateFile })
  const [kept, retired] = [first.newDeviceToken(), first.newDeviceToken()]
  first.retireDeviceToken(retired)
  await first.close()
  const second = await start({ stateFile })
  const session = open(second)
  expect((await push(session, kept)).status).toBe(200)
  expect((await push(session, retired)).status).toBe(410)
})

test.each([
  ['apns-410', 410, 'Unregistered'],
  ['apns-429', 429, 'TooManyRequests'],
  ['apns-500', 500, 'InternalServerError'],
  ['apns-503', 503, 'ServiceUnavailable'],
] as const)(
  'with the fault %s every push fails accordingly until the fault is removed',
  async (fault, status, reason) => {
    const apns = await start({ faults: [fault] })
    const token = apns.newDeviceToken()
    const session = open(apns)
    expect(await push(session, token)).toMatchObject({ status, body: { reason } })
    expect((await call('POST', `${apns.control}/faults`, { faults: [] })).json).toEqual({ faults: [] })
    expect((await push(session, token)).status).toBe(200)
  },
)

test('with the fault apns-down existing and new connections are closed', async () => {
  const apns = await start()
  const token = apns.newDeviceToken()
  const session = open(apns)
  expect((await push(session, token)).status).toBe(200)
  apns.faults.replace(['apns-down'])
  await expect(push(session, token)).rejects.toThrow()
  await expect(push(open(apns), token)).rejects.toThrow()
  apns.faults.replace([])
  expect((await push(open(apns), token)).status).toBe(200)
})

test('with the fault apns-drop a push is accepted and not delivered', async () => {
  const apns = await start({ faults: ['apns-drop'] })
  const token = apns.newDeviceToken()
  const session = open(apns)
  const lost = await push(session, token)
  expect(lost.status).toBe(200)
  apns.faults.replace([])
  const kept = await push(session, token)
  const next = await listen(`${apns.control}/tokens/${token}/pushes`)
  expect(await next()).toEqual({ topic, apnsId: kept.id, token })
})

test('with the fault apns-slow the response takes more than a second', async () => {
  const apns = await start({ faults: ['apns-slow'] })
  const token = apns.newDeviceToken()
  const startedAt = performance.now()
  expect((await push(open(apns), token)).status).toBe(200)
  expect(performance.now() - startedAt).toBeGreaterThan(1_000)
})

test('rejects an unknown fault and lists the known ones', async () => {
  const apns = await start({ faults: ['apns-500'] })
  const { status, json } = await call('POST', `${apns.control}/faults`, { faults: ['apns-0'] })
  expect(status).toBe(400)
  expect((json as { error: string }).error).toContain(faultNames.join(', '))
  expect(apns.faults.list()).toEqual(['apns-500'])
})

test('closes even if a client has not read its response', async () => {
  const apns = await start()
  const stream = open(apns).request({ ':method': 'POST', ':path': '/3/device/none', 'apns-topic': topic })
  stream.end('{}')
  await once(stream, 'response')
  await apns.close()
})
