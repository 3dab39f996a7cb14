import { createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../../src/server/config.ts'
import { type DoctorOptions, diagnose } from '../../../src/server/operator/doctor/doctor.ts'
import { createStore } from '../../../src/storage/store.ts'
import { parseGoogleIdentity } from '../../../src/wallets/google/google-identity.ts'
import { startSandboxApns } from '../../../src/wallets/sandbox/apple/apns-server.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import { createFaults } from '../../../src/wallets/sandbox/faults.ts'
import { startSandboxGoogle } from '../../../src/wallets/sandbox/google/google-server.ts'
import type { SandboxGoogle } from '../../../src/wallets/sandbox/google/google-token.ts'
import { insertPasses, insertTemplate, insertWorkspace, newPass, openTestDatabase } from '../../storage/fixtures.ts'
import { sandboxAccount, sandboxChain } from '../../support/chains.ts'
import { testConfig } from '../../support/config.ts'
import { migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { Mailbox } from '../../support/mailbox.ts'

/** Runs the checks that need services of Apple and Google against emulators of the same protocols. */

const at = new Date('2026-07-01T12:00:00Z')
let apple: SandboxApple
let google: SandboxGoogle

beforeAll(async () => {
  const names = { passTypeIdentifier: 'pass.test.doctor', teamIdentifier: 'TEAM000001' }
  ;[apple, google] = await Promise.all([sandboxChain({ ...names, at }), sandboxAccount()])
})

async function examine(options: Partial<DoctorOptions>, config: Partial<Config> = {}) {
  const databaseUrl = `sqlite:${join(temporaryFolder(), 'none.db')}`
  const checks = await diagnose({
    clock: () => at,
    ...options,
    config: testConfig({
      databaseUrl,
      apple: { certificate: apple.certificatePem, key: apple.keyPem, wwdr: apple.wwdrPem },
      google: { serviceAccount: google.serviceAccountJson, issuerId: google.issuerId },
      ...config,
    }),
  })
  return (title: string) => checks.find(({ group, name }) => `${group}: ${name}` === title)!
}

async function apnsServer(faults: Parameters<typeof createFaults>[0] = []) {
  const server = await startSandboxApns({
    serverCertificate: apple.serverCertificatePem,
    serverKey: apple.serverKeyPem,
    clientRoot: apple.rootPem + apple.wwdrPem,
    faults: createFaults(faults),
    clock: () => at,
  })
  onTestFinished(() => server.close())
  return { address: server.address, port: server.port, ca: apple.rootPem }
}

async function googleEndpoints(publicKey = publicKeyOf(google.serviceAccountJson), faults = createFaults()) {
  const { issuerId } = google
  const { clientEmail } = parseGoogleIdentity({ source: 'google', json: google.serviceAccountJson }, issuerId)
  const callbackUrl = 'http://127.0.0.1:9/never'
  const server = await startSandboxGoogle({ clientEmail, publicKey, issuerId, callbackUrl, faults })
  onTestFinished(() => server.close())
  return { api: server.apiUrl, token: server.tokenUrl }
}

function publicKeyOf(serviceAccountJson: string) {
  return createPublicKey(JSON.parse(serviceAccountJson).private_key)
}

test('the checks pass if APNs accepts the certificate and Google permits reads', async () => {
  const find = await examine({ apns: { server: await apnsServer() }, google: { endpoints: await googleEndpoints() } })
  expect(find('Apple: APNs')).toMatchObject({ status: 'PASSED', message: expect.stringContaining('BadDeviceToken') })
  expect(find('Google: Key')).toMatchObject({ status: 'PASSED', message: expect.stringContaining(google.issuerId) })
  expect(find('Google: Permission').status).toBe('PASSED')
})

test('the checks fail if APNs is unreachable or Google rejects the service account', async () => {
  const server = { address: '127.0.0.1', port: 9, ca: apple.rootPem }
  const stranger = publicKeyOf((await sandboxAccount(1)).serviceAccountJson)
  const find = await examine({ apns: { server }, google: { endpoints: await googleEndpoints(stranger) } })
  expect(find('Apple: APNs').status).toBe('FAILED')
  expect(find('Google: Permission')).toMatchObject({ status: 'FAILED', fix: expect.stringContaining('console') })
})

test('reports an unreachable Google as a network problem, not as a missing permission', async () => {
  const nowhere = 'http://127.0.0.1:9'
  const find = await examine({ google: { endpoints: { api: nowhere, token: nowhere } } }, { platforms: ['google'] })
  expect(find('Google: Permission')).toMatchObject({ status: 'FAILED', fix: expect.stringContaining('port 443') })
})

test("with writes allowed, reports Google's response to a class and stores whether it accepts locations", async () => {
  const databaseUrl = await migratedDatabase('sqlite', onTestFinished)
  const faults = createFaults(['google-locations'])
  const endpoints = await googleEndpoints(undefined, faults)
  const look = async (canWrite: boolean) => {
    const config = { databaseUrl, platforms: ['google' as const], publicUrl: 'https://127.0.0.1:9' }
    const find = await examine({ google: { endpoints }, canWrite }, config)
    return [find('Google: Class'), find('Google: Locations')]
  }
  expect(await look(false)).toMatchObject([{ status: 'SKIPPED' }, { status: 'PASSED' }])
  const refused = { status: 'SKIPPED', message: expect.stringContaining('not allowlisted for Merchant Locations') }
  expect(await look(true)).toMatchObject([
    { status: 'PASSED', message: expect.stringContaining('no location') },
    refused,
  ])
  // A check that writes at the platform is skipped if doctor must not write.
  expect(await look(false)).toMatchObject([{ status: 'SKIPPED' }, refused])
  faults.replace(['google-400'])
  expect(await look(true)).toMatchObject([{ status: 'FAILED', message: expect.stringContaining('400') }, refused])
  faults.replace([])
  const taken = { status: 'PASSED', message: expect.stringContaining('a class with a logo and a location') }
  expect(await look(true)).toMatchObject([taken, { status: 'PASSED' }])
})

test('the check of an expired certificate fails with the expiry date', async () => {
  const later = new Date('2035-01-01T00:00:00Z')
  const find = await examine({ clock: () => later }, { platforms: ['apple'] })
  expect(find('Apple: Pass certificate')).toMatchObject({
    status: 'FAILED',
    message: expect.stringMatching(/expired on 2031-/),
  })
  expect(find('Apple: WWDR expiry').status).toBe('PASSED')
})

test('the check of a public URL that is another service fails, and its clock is compared', async () => {
  const answers = new Map([
    ['/healthz', '{"status":"ok"}'],
    ['/openapi.json', '{"info":{"title":"Something else"}}'],
  ])
  const server = createServer((request, response) => {
    response.setHeader('date', new Date(at.getTime() - 60_000).toUTCString())
    response.end(answers.get(request.url!) ?? 'none')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sandbox = { platforms: [] }
  const find = await examine({}, { ...sandbox, publicUrl })
  expect(find('Public URL: Reachable')).toMatchObject({ status: 'FAILED', message: `${publicUrl} is another service.` })
  expect(find('Database: Clock')).toMatchObject({
    status: 'FAILED',
    message: expect.stringContaining('59.5 s ahead of'),
  })
  answers.set('/healthz', '<html>Welcome</html>')
  expect((await examine({}, { ...sandbox, publicUrl }))('Public URL: Reachable').message).toContain('/healthz')
})

test('a recount corrects wrong counts, names them, and finds none the next time', async () => {
  const databaseUrl = await migratedDatabase('sqlite')
  const database = openTestDatabase(databaseUrl)
  const store = createStore(database)
  const workspaceId = await insertWorkspace(store)
  const { templateId, ...version } = await insertTemplate(store, workspaceId)
  await insertPasses(store, workspaceId, [newPass({ templateId, ...version })])
  const recounted = async () => (await examine({ canRecount: true }, { databaseUrl }))('Database: Counts')
  expect(await recounted()).toMatchObject({ status: 'PASSED', message: 'all correct' })
  await database.writer('counts').where({ counter: 'passes' }).update({ n: 12 })
  const part = `template ${templateId}, kind QUEUED`
  const message = `corrected 1: passes of workspace ${workspaceId} (${part}): 12, now 1`
  expect(await recounted()).toMatchObject({ status: 'PASSED', message })
  expect(await recounted()).toMatchObject({ status: 'PASSED', message: 'all correct' })
  expect((await examine({}, { databaseUrl }))('Database: Counts')).toBeUndefined()
})

test("an identity whose platform does not respond is reported if a server's metrics can be read", async () => {
  let value = 1
  const server = createServer((_, response) =>
    response.end(
      `passes_identity_paused{provider="apns",identity="server"} 0\npasses_identity_paused{provider="google",identity="acme"} ${value}\n`,
    ),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const metrics = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const find = async (config: Partial<Config>) => (await examine({}, { platforms: [], ...config }))('Platforms: Paused')
  expect(await find({ metrics })).toMatchObject({
    status: 'FAILED',
    message: expect.stringMatching(/: acme \(google\)\.$/),
    fix: expect.stringContaining('identity renew'),
  })
  value = 0
  expect(await find({ metrics })).toMatchObject({ status: 'PASSED' })
  expect(await find({})).toMatchObject({
    status: 'SKIPPED',
    message: expect.stringContaining('give the --metrics-port of the worker'),
  })
  expect(await find({ metrics: { ...metrics, port: 1 } })).toMatchObject({ status: 'SKIPPED' })
})

test('the SMTP server is checked without sending an email, and each failure says what to do', async () => {
  const mailbox = new Mailbox()
  const port = await mailbox.start(0, { user: 'cards', password: 'p@ss' })
  onTestFinished(() => mailbox.stop())
  const check = async (smtpUrl: string) => (await examine({}, { mail: { smtpUrl } }))('Email: SMTP server')
  expect(await check(`smtp://cards:p%40ss@127.0.0.1:${port}?tls.rejectUnauthorized=false`)).toMatchObject({
    status: 'PASSED',
    message: `127.0.0.1:${port}: STARTTLS, signed in as cards`,
  })
  const wrong = await check(`smtp://cards:wrong@127.0.0.1:${port}?tls.rejectUnauthorized=false`)
  expect(wrong).toMatchObject({
    status: 'FAILED',
    message: `127.0.0.1:${port} rejects the user or the password (535).`,
  })
  expect(JSON.stringify(wrong)).not.toContain('wrong@')
  const certificate = await check(`smtp://cards:p%40ss@127.0.0.1:${port}`)
  expect(certificate).toMatchObject({ status: 'FAILED', message: expect.stringContaining('is not valid') })
  const tls = await check(`smtps://cards:p%40ss@127.0.0.1:${port}`)
  expect(tls).toMatchObject({ status: 'FAILED', fix: expect.stringContaining('465') })
  const closed = await check('smtp://127.0.0.1:1')
  expect(closed).toMatchObject({ status: 'FAILED', fix: expect.stringContaining('firewall') })
  expect(await check('mail.example.com:25')).toMatchObject({
    status: 'FAILED',
    message: expect.stringContaining('--smtp-url'),
  })
  expect(mailbox.received).toEqual([])

  const plain = new Mailbox()
  const plainPort = await plain.start()
  onTestFinished(() => plain.stop())
  expect(await check(`smtp://127.0.0.1:${plainPort}`)).toMatchObject({
    status: 'PASSED',
    message: `127.0.0.1:${plainPort}: not encrypted, without a password`,
  })
})
