import { X509Certificate } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { type Client, createClient } from '../../../src/client/client.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { type RunningServer, startServer } from '../../../src/server/boot/serve.ts'
import { createLogger } from '../../../src/server/log.ts'
import { addApple, addGoogle } from '../../../src/server/operator/manage-identities.ts'
import { renewIdentity } from '../../../src/server/operator/renew-identity.ts'
import { testConfig } from '../../support/config.ts'
import { emptyDatabase, oneDialect, type TestDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { unpack, verifySignature } from '../../wallets/apple/fixtures.ts'
import { definition } from '../fixtures.ts'

const PASSES = 3
const brands = ['acme', 'umbra'] as const

/** Starts a server in this process with both emulators. Also returns what the commands of operators need. */
async function start(dialect: TestDialect) {
  const databaseUrl = await emptyDatabase(dialect)
  const sandboxFolder = mkdtempSync(join(tmpdir(), 'passes-brands-'))
  onTestFinished(() => rmSync(sandboxFolder, { recursive: true, force: true }))
  cpSync(inject('sandboxFolder'), sandboxFolder, { recursive: true })
  const operator = { databaseUrl, serverKey: 'cd'.repeat(32), previousServerKeys: [], sandboxFolder }
  const server = await startServer({ log: createLogger('silent'), config: testConfig(operator) })
  onTestFinished(() => server.close())
  const client = createClient({ url: server.url, token: server.firstToken! })
  onTestFinished(() => client.close())
  const response = await fetch(`${server.url}/sandbox`)
  const sandbox = (await response.json()) as { apple: { control: string; rootPem: string }; google: { url: string } }
  return { server, client, operator, sandbox }
}

/** Adds a brand with its two identities, and issues passes of it. */
async function addBrand(name: (typeof brands)[number], number: number, { client, operator }: Started) {
  const project = await client.projects.create({ body: { name } })
  const place = { workspace: 'default', project: name, at: new Date() }
  const type = `pass.test.${name}`
  const team = `${name.toUpperCase()}00001`.slice(0, 10)
  const issuerId = `338800000000000000${number}`
  await addApple(operator, { name, from: { passTypeIdentifier: type, teamIdentifier: team }, ...place })
  await addGoogle(operator, { name: `${name}-google`, issuerId, isSandbox: true, ...place })
  const template = await client.templates.create({ body: { name, passType: 'generic', projectId: project.id } })
  const params = { id: template.id }
  const draft = await client.templates.createVersion({ params, body: { definition: definition() } })
  await client.templateVersions.publish({ params: { id: draft.id } })
  const made = await client.passes.createBatch({
    body: {
      passes: Array.from({ length: PASSES }, (_, n) => ({
        externalPassId: `${name}-${n}`,
        label: 'Ada',
        templateId: template.id,
      })),
    },
  })
  const ids = made.results.map(({ pass }) => pass!.id)
  const passes = await eventually(async () => {
    const read = await Promise.all(ids.map((id) => client.passes.get({ params: { id } })))
    expect(read.map(({ status }) => status)).toEqual(read.map(() => 'ISSUED'))
    return read
  })
  return { name, type, team, issuerId, passes }
}

type Started = Awaited<ReturnType<typeof start>>
type Brand = Awaited<ReturnType<typeof addBrand>>

/** Downloads a package and checks its signature with openssl. Returns its pass.json and its signer. */
async function openPackage({ hostedLinks }: Pass, rootPem: string) {
  const folder = await unpack(Buffer.from(await (await fetch(hostedLinks.apple!)).arrayBuffer()))
  const { stderr } = await verifySignature(folder, rootPem, { options: ['-signer', 'signer.pem'], time: new Date() })
  expect(stderr).toContain('success')
  const signer = new X509Certificate(readFileSync(join(folder, 'signer.pem')))
  return { json: JSON.parse(readFileSync(join(folder, 'pass.json'), 'utf8')), signer }
}

/** Adds every pass of a brand to both wallets of a phone, and collects the pushes to the phone. */
async function installAll({ type, issuerId, name, passes }: Brand, { sandbox, server }: Started) {
  const response = await fetch(`${sandbox.apple.control}/tokens`, {
    method: 'POST',
    body: JSON.stringify({ topic: type }),
  })
  const { token } = (await response.json()) as { token: string }
  const topics: string[] = []
  const stopped = new AbortController()
  onTestFinished(() => stopped.abort())
  const heard = await fetch(`${sandbox.apple.control}/tokens/${token}/pushes`, { signal: stopped.signal })
  void gather(heard, topics)
  const tokens = new Map<string, string>()
  for (const pass of passes) {
    const { json, signer } = await openPackage(pass, sandbox.apple.rootPem)
    expect(json.passTypeIdentifier).toBe(type)
    expect(signer.subject).toContain(`UID=${type}`)
    tokens.set(pass.id, json.authenticationToken)
    const path = `${server.url}/apple/v1/devices/one-phone/registrations/${type}/${json.serialNumber}`
    const headers = { authorization: `ApplePass ${json.authenticationToken}`, 'content-type': 'application/json' }
    const registered = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ pushToken: token }) })
    expect(registered.status).toBe(201)

    const link = await fetch(pass.hostedLinks.google!, { redirect: 'manual' })
    const jwt = link.headers.get('location')!.split('/').at(-1)!
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString())
    expect(claims.iss).toContain(`sandbox-${issuerId}@`)
    const saved = await fetch(`${sandbox.google.url}/save`, {
      method: 'POST',
      body: JSON.stringify({ jwt, device: name }),
    })
    const shown = (await saved.json()) as { object: { id: string }; class: { id: string } }
    expect(saved.status, JSON.stringify(shown)).toBe(200)
    for (const { id } of [shown.object, shown.class]) expect(id).toMatch(new RegExp(`^${issuerId}\\.`))
  }
  return { topics, tokens }
}

async function gather({ body }: Response, topics: string[]): Promise<void> {
  try {
    for await (const bytes of body!) {
      const lines = Buffer.from(bytes).toString().split('\n').filter(Boolean)
      topics.push(...lines.map((line) => JSON.parse(line).topic))
    }
  } catch {
    // The emulators close the stream at the end of the test.
  }
}

async function updateAll(client: Client, passes: Pass[], seat: string): Promise<void> {
  await Promise.all(passes.map(({ id }) => client.passes.update({ params: { id }, body: { variables: { seat } } })))
}

async function expectAllTold(client: Client, { passes, name }: Brand): Promise<void> {
  await eventually(async () => {
    for (const { id } of passes) {
      const { apple, google, walletVersion } = await client.passes.wallets({ params: { id } })
      expect(apple, name).toMatchObject([{ pushedVersion: walletVersion, lastError: null }])
      expect(google, name).toMatchObject({
        sentVersion: walletVersion,
        lastError: null,
        installedAt: expect.any(String),
      })
    }
  })
}

async function listChanged({ url }: RunningServer, type: string) {
  const answer = await fetch(`${url}/apple/v1/devices/one-phone/registrations/${type}`)
  return ((await answer.json()) as { serialNumbers: string[] }).serialNumbers.toSorted()
}

test.each(oneDialect)('on %s no data of one brand names another, under load and during renewals', async (dialect) => {
  const started = await start(dialect)
  const { client, server, sandbox, operator } = started
  const found: Brand[] = []
  for (const [n, name] of brands.entries()) found.push(await addBrand(name, n + 1, started))
  const phones = [await installAll(found[0]!, started), await installAll(found[1]!, started)]
  const signers = await Promise.all(found.map(({ passes }) => openPackage(passes[0]!, sandbox.apple.rootPem)))

  const all = found.flatMap(({ passes }) => passes)
  await updateAll(client, all, 'A-1')
  // An operator renews the identities one by one while the server works.
  const loaded = updateAll(client, all, 'A-2')
  for (const name of brands.flatMap((one) => [one, `${one}-google`])) {
    await renewIdentity(operator, name, { at: new Date() })
  }
  await loaded
  const expectRenewed = async () => {
    for (const [n, brand] of found.entries()) {
      const { signer } = await openPackage(brand.passes[0]!, sandbox.apple.rootPem)
      expect(signer.fingerprint256).not.toBe(signers[n]!.signer.fingerprint256)
      expect(signer.subject).toContain(`UID=${brand.type}`)
    }
  }
  await eventually(expectRenewed, { interval: 1_000 })
  await updateAll(client, all, 'A-3')

  for (const [n, brand] of found.entries()) {
    const other = found[1 - n]!
    await expectAllTold(client, brand)
    const { topics, tokens } = phones[n]!
    expect(new Set(topics)).toEqual(new Set([brand.type]))
    expect(await listChanged(server, brand.type)).toEqual(brand.passes.map(({ id }) => id).toSorted())
    // Credentials of one brand's phones do not work with the other's pass type.
    const [{ id }] = brand.passes as [Pass]
    const headers = { authorization: `ApplePass ${tokens.get(id)}` }
    expect((await fetch(`${server.url}/apple/v1/passes/${brand.type}/${id}`, { headers })).status).toBe(200)
    expect((await fetch(`${server.url}/apple/v1/passes/${other.type}/${id}`, { headers })).status).toBe(401)
  }
})
