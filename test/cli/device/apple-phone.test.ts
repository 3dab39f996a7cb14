import { beforeAll, expect, test } from 'vitest'
import type { AppleDevice } from '../../../src/cli/device/phone-store.ts'
import { deviceFor, phoneOf } from '../../../src/cli/device/phones.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { createChain, type Override, type Service, serial, startService, type } from './service.ts'

let chain: SandboxApple
beforeAll(async () => {
  chain = await createChain()
})

function newPhone(folder = temporaryFolder()) {
  const file = deviceFor(folder, 'apple')
  return {
    ...phoneOf(file),
    device: () => file.read() as AppleDevice,
    pass: () => (file.read() as AppleDevice).passes[0],
  }
}

/** Returns a phone that has installed the pass of the service. */
async function installed() {
  const service = await startService(chain)
  const phone = newPhone()
  await phone.install(`${service.url}/l/smart`)
  service.calls()
  return { service, phone }
}

const seatOf = (pass: AppleDevice['passes'][number] | undefined) =>
  pass?.content.eventTicket?.secondaryFields.find(({ key }) => key === 'seat')?.value

test('a smart link installs a pass: verified, registered with a push token, and fetched again', async () => {
  const service = await startService(chain)
  const phone = newPhone()
  expect(await phone.install(`${service.url}/l/smart`)).toBe(serial)
  expect(service.calls()).toEqual([`POST /devices/D/registrations/${type}/${serial}`, `GET /passes/${type}/${serial}`])
  expect([...service.registrations]).toEqual([
    [expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{64}$/)],
  ])
  expect(phone.device()).toMatchObject({ name: 'iphone', passes: [{ lastModified: 'Thu, 01 Jan 1970 00:00:01 GMT' }] })
})

test('installing again registers again and keeps the pass and its push token', async () => {
  const { service, phone } = await installed()
  const before = phone.device()
  await phone.install(`${service.url}/l/apple`)
  expect(phone.device()).toEqual(before)
  expect(service.registrations.size).toBe(1)
})

test('a change between download and registration is fetched at once', async () => {
  const service = await startService(chain)
  const phone = newPhone()
  service.state.override = ({ method }) => {
    if (method === 'POST') service.change({ seat: 'B-2' })
    return undefined
  }
  await phone.install(`${service.url}/l/apple`)
  expect(seatOf(phone.pass())).toBe('B-2')
})

test('lists with the stored tag, fetches changed passes, and shows banners of changed fields', async () => {
  const { service, phone } = await installed()
  expect(await phone.check()).toEqual({ changes: [], problems: [] })
  expect(service.calls()).toEqual([`GET /devices/D/registrations/${type}`, `GET /passes/${type}/${serial}`])
  expect(await phone.check()).toEqual({ changes: [], problems: [] })
  expect(service.calls()).toEqual([`GET /devices/D/registrations/${type}?passesUpdatedSince=1`])
  service.change({ seat: 'B-7', news: 'The doors open at 9' })
  const { changes } = await phone.check()
  expect(changes).toMatchObject([{ pass: serial, banners: ['Your seat is now B-7.', 'The doors open at 9'] }])
  expect(seatOf(phone.pass())).toBe('B-7')
  await phone.check()
  expect(service.calls().at(-1)).toBe(`GET /devices/D/registrations/${type}?passesUpdatedSince=2`)
})

test('a change of a field without a changeMessage shows no banner', async () => {
  const { service, phone } = await installed()
  service.change({ seat: 'A-1' }, { voided: true })
  expect((await phone.check()).changes).toMatchObject([{ banners: [] }])
  expect(phone.pass()?.content.voided).toBe(true)
})

test('the phone never installs an older version of a pass', async () => {
  const { service, phone } = await installed()
  service.change({ seat: 'B-2' })
  service.change({ seat: 'C-3' })
  await phone.check()
  service.change({ seat: 'B-2' })
  service.state.version = 2
  service.state.override = ({ path }) =>
    path.startsWith('/devices') ? { status: 200, json: { serialNumbers: [serial], lastUpdated: '9' } } : undefined
  expect((await phone.check()).changes).toEqual([])
  expect(seatOf(phone.pass())).toBe('C-3')
})

test('concurrent fetches end with the newest content', async () => {
  const { service, phone } = await installed()
  for (let n = 1; n <= 20; n++) {
    service.change({ seat: `S-${n}` })
    await Promise.all([phone.check(), phone.check(), Promise.resolve().then(() => service.change({ seat: `T-${n}` }))])
  }
  await phone.check()
  expect(seatOf(phone.pass())).toBe('T-20')
})

test('a failed fetch keeps the tag, so that the pass is listed again', async () => {
  const { service, phone } = await installed()
  await phone.check()
  service.change({ seat: 'B-2' })
  service.state.override = ({ path }) => (path.startsWith('/passes') ? { status: 503 } : undefined)
  await expect(phone.check()).rejects.toThrow('responded with 503')
  service.state.override = () => undefined
  expect((await phone.check()).changes).toMatchObject([{ banners: ['Your seat is now B-2.'] }])
})

const listed = (json: unknown): Override => {
  return ({ path }) => (path.startsWith('/devices') ? { status: 200, json } : undefined)
}

test('rejects a numeric update tag, as iOS does', async () => {
  const { service, phone } = await installed()
  service.state.override = listed({ serialNumbers: [serial], lastUpdated: 2 })
  await expect(phone.check()).rejects.toThrow('in an invalid format')
})

test('logs an unchanged tag to the service with the message of iOS', async () => {
  const { service, phone } = await installed()
  await phone.check()
  service.state.override = listed({ serialNumbers: [serial], lastUpdated: '1' })
  const { problems } = await phone.check()
  expect(problems).toEqual([expect.stringContaining('the lastUpdated tag (1) remained the same')])
  expect(service.logs).toEqual([expect.stringContaining(problems[0]!)])
})

test('logs an update that a phone would reject, and keeps the stored pass', async () => {
  const { service, phone } = await installed()
  service.change({ seat: 'B-2' })
  service.state.archive = Buffer.from('nonsense')
  const { changes, problems } = await phone.check()
  expect([changes, problems]).toEqual([[], [expect.stringContaining('Phones would reject this pass')]])
  expect(service.logs).toHaveLength(1)
  service.state.archive = undefined
  service.state.override = ({ path }) => (path.startsWith('/passes') ? { status: 401 } : undefined)
  expect((await phone.check()).problems).toEqual([expect.stringContaining('Unauthorized')])
  service.state.override = () => undefined
  expect((await phone.check()).changes).toHaveLength(1)
})

test('a removed pass is unregistered with its token, and its service gets no more requests', async () => {
  const { service, phone } = await installed()
  await phone.remove(serial)
  expect(service.calls()).toEqual([`DELETE /devices/D/registrations/${type}/${serial}`])
  expect(service.registrations.size).toBe(0)
  expect(phone.device().passes).toEqual([])
  await phone.check()
  expect(service.calls()).toEqual([])
  expect(phone.sources()).toEqual([])
})

test('a pass stays until its service is notified of the removal, or reports it as unknown', async () => {
  const { service, phone } = await installed()
  service.state.override = () => ({ status: 503 })
  await expect(phone.remove(serial)).rejects.toThrow('responded with 503')
  expect(phone.device().passes).toHaveLength(1)
  service.state.override = () => ({ status: 401 })
  await phone.remove(serial)
  expect(phone.device().passes).toEqual([])
})

test.each([
  ['/l/revoked', 'LINK_REVOKED'],
  ['/l/nothing', 'LINK_INVALID'],
  ['/l/page', 'FAILED'],
])('the link %s installs nothing', async (path, code) => {
  const service: Service = await startService(chain)
  service.state.override = () => ({ status: 404 })
  const phone = newPhone()
  await expect(phone.install(`${service.url}${path}`)).rejects.toMatchObject({ code })
  expect(phone.device()).toMatchObject({ passes: [], accounts: [] })
})

test('reports an unreachable server, and an address that is not a hosted link', async () => {
  const service = await startService(chain)
  const phone = newPhone()
  await expect(phone.install('http://127.0.0.1:9/l/x')).rejects.toMatchObject({ code: 'CONNECTION_FAILED' })
  await expect(phone.install(`${service.url}/images/x`)).rejects.toThrow()
})
