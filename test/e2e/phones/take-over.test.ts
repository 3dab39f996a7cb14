import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, connect, createServer as createTcp } from 'node:net'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import { expect, onTestFinished, test } from 'vitest'
import { openPackage } from '../../../src/cli/device/apple-package.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { publishTicket } from '../support/bulk-setup.ts'
import { findApns, listenForPushes, type TestPhone } from '../support/phone.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

const TYPE = 'pass.test.passes.sandbox'

interface OldPhone {
  deviceId: string
  pushToken: string
  serialNumber: string
  authenticationToken: string
  scanPayload: string
}

/** Starts a provider that stores registrations, and responds below its own path. */
async function startOldProvider() {
  const registered = new Map<string, string>()
  const server = createHttp((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const [, device] = /^\/old\/v1\/devices\/([^/]+)\/registrations\//.exec(request.url!) ?? []
      if (device && request.method === 'POST') registered.set(device, JSON.parse(body).pushToken)
      response.writeHead(device ? 201 : 404).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  return { url: `http://127.0.0.1:${port}/old`, port, registered, close }
}

/** Changes the DNS target: requests to the old address reach the new server. */
async function pointTo(port: number, url: string): Promise<void> {
  const to = Number(new URL(url).port)
  const server = createTcp((from) => {
    const through = connect(to, '127.0.0.1')
    for (const [a, b] of [
      [from, through],
      [through, from],
    ] as const) {
      a.pipe(b).on('error', () => b.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
}

test('phones of another provider continue under its old path: pushed, updated, and accepted by old codes', async () => {
  const server = await hostServer({ args: ['--apple-prefix', '/old/'] })
  const folder = temporaryFolder()
  const apns = await findApns(server)
  const old = await startOldProvider()
  const ask = (phone: OldPhone, path: string, init: RequestInit = {}) =>
    fetch(`${old.url}/v1${path}`, { ...init, headers: { authorization: `ApplePass ${phone.authenticationToken}` } })
  const addressOf = ({ serialNumber }: OldPhone) => `${TYPE}/${encodeURIComponent(serialNumber)}`

  mkdirSync(join(folder, 'packages'))
  const phones: OldPhone[] = []
  for (const n of [1, 2, 3]) {
    const tokens = await fetch(`${apns.control}/tokens`, { method: 'POST', body: JSON.stringify({ topic: TYPE }) })
    const { token: pushToken } = (await tokens.json()) as { token: string }
    const facts = {
      serialNumber: `M ${n}/2019`,
      authenticationToken: `old-token-of-pass-${n}`,
      scanPayload: `OLD-${n}`,
    }
    const phone = { deviceId: `device-${n}`, pushToken, ...facts }
    phones.push(phone)
    const passJson = {
      ...{ serialNumber: phone.serialNumber, authenticationToken: phone.authenticationToken },
      passTypeIdentifier: TYPE,
      webServiceURL: old.url,
      barcodes: [{ message: phone.scanPayload }],
      eventTicket: {
        primaryFields: [{ key: 'name', value: `Holder ${n}` }],
        auxiliaryFields: [{ key: 'seat', value: n }],
      },
    }
    writeFileSync(join(folder, 'packages', `${n}.pkpass`), zipSync({ 'pass.json': strToU8(JSON.stringify(passJson)) }))
    const body = JSON.stringify({ pushToken })
    const path = `/devices/${phone.deviceId}/registrations/${addressOf(phone)}`
    expect((await ask(phone, path, { method: 'POST', body })).status).toBe(201)
  }

  const { id: projectId } = await server.client.projects.create({ body: { name: 'Club' } })
  const templateId = await publishTicket(server.client, projectId)
  const read = await run(['packages', 'packages', '--out', 'members.csv'], server, { cwd: folder })
  expect(read.exitCode, read.stderr).toBe(0)
  const [first, ...rows] = readFileSync(join(folder, 'members.csv'), 'utf8').trim().split('\n')
  const registered = phones.map(({ deviceId }) => `${deviceId}:${old.registered.get(deviceId)}`)
  const joined = [`${first},devices`, ...rows.map((row, n) => `${row},${registered[n]}`)]
  writeFileSync(join(folder, 'members.csv'), `${joined.join('\n')}\n`)
  const args = ['import', 'members.csv', '--template', templateId, '--out', 'ids.csv', '--json']
  const taken = await run(args, server, { cwd: folder })
  expect(taken.exitCode, taken.stderr).toBe(0)
  expect(JSON.parse(taken.stdout)).toMatchObject({ created: 3, failed: 0 })
  await old.close()
  await pointTo(old.port, server.url)

  const pushes = await Promise.all(phones.map((phone) => listenForPushes(server, phone as unknown as TestPhone)))
  const { items } = await server.client.passes.list({ query: { sortBy: 'externalPassId', sortDir: 'asc' } })
  for (const { id } of items)
    await server.client.passes.update({ params: { id }, body: { variables: { seat: 'VIP' } } })
  await eventually(() => expect(pushes.map(({ count }) => count())).toEqual([1, 1, 1]))
  for (const phone of phones) {
    const since = 'passesUpdatedSince=2019-05-01T10:00:00Z'
    const changed = await ask(phone, `/devices/${phone.deviceId}/registrations/${TYPE}?${since}`)
    expect(await changed.json()).toMatchObject({ serialNumbers: [phone.serialNumber] })
    const file = await ask(phone, `/passes/${addressOf(phone)}`)
    const { content } = openPackage(Buffer.from(await file.arrayBuffer()), apns.rootPem, new Date())
    expect(content).toMatchObject({
      serialNumber: phone.serialNumber,
      authenticationToken: phone.authenticationToken,
      webServiceURL: `${server.url}/apple`,
      barcodes: [{ message: phone.scanPayload }],
    })
    const scan = await server.client.scans.create({ body: { qrPayload: phone.scanPayload, projectId } })
    expect(scan.result).toBe('accepted')
  }
  const [phone] = phones as [OldPhone]
  expect(
    (await ask({ ...phone, authenticationToken: 'not-its-own-token' }, `/passes/${addressOf(phone)}`)).status,
  ).toBe(401)
})

test('rejects an invalid or reserved path at the start', async () => {
  for (const prefix of ['/v1', '/apple', '/l/passes', '/', '/a b', 'old', '/../v1']) {
    await expect(hostServer({ args: ['--apple-prefix', prefix] }), prefix).rejects.toThrow(/--apple-prefix/)
  }
})
