import { describe, expect, test } from 'vitest'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { dialects, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../support/program.ts'
import { sharedServer, type TestServer } from '../support/server.ts'

const loyalty = new URL('../../../examples/loyalty/template.json', import.meta.url).pathname

describe.each(dialects)('on %s', (dialect) => {
  const shared = sharedServer({ dialect })

  test('a pass lives on two phones: installed, updated, removed, void', async () => {
    const server = await shared()
    const { passes, projects } = server.client
    const project = await projects.create({ body: { name: 'Phones' } })
    const pass = await createPass(server, project.id)
    const phone = (...args: string[]) => device(server, folder, ...args)
    const folder = temporaryFolder()

    await phone('install', pass.hostedLinks.apple!, '--platform', 'apple', '--device', 'iphone')
    await phone('install', pass.hostedLinks.google!, '--platform', 'google', '--device', 'android')
    await until(async () => (await projects.stats({ params: { id: project.id } })).googleInstallCount === 1)

    await passes.update({ params: { id: pass.id }, body: { variables: { points: '25' } } })
    await until(async () => {
      const { apple, google } = await passes.wallets({ params: { id: pass.id } })
      return apple[0]?.pushedVersion === 2 && google?.sentVersion === 2
    })
    expect(await phone('open', 'iphone')).toContain('Your balance is now 25 points.')
    expect(await passes.wallets({ params: { id: pass.id } })).toMatchObject({
      walletVersion: 2,
      apple: [{ state: 'current', fetchedVersion: 2, lastError: null }],
      google: { state: 'current', lastError: null },
    })

    await passes.void({ params: { id: pass.id } })
    await until(async () => (await passes.wallets({ params: { id: pass.id } })).google?.sentVersion === 3)
    await phone('open', 'iphone')
    expect((await passes.wallets({ params: { id: pass.id } })).apple[0]?.fetchedVersion).toBe(3)

    await phone('remove', '--all', '--device', 'iphone')
    await phone('remove', '--all', '--device', 'android')
    expect((await passes.wallets({ params: { id: pass.id } })).apple).toEqual([])
    await until(async () => (await projects.stats({ params: { id: project.id } })).googleInstallCount === 0)
  })

  test('concurrent entries of a balance share pushes, and both phones show the last value', async () => {
    const server = await shared()
    const { passes, projects, templates, templateVersions, balances } = server.client
    const project = await projects.create({ body: { name: 'Balances' } })
    const named = { name: 'Stamps', passType: 'generic' as const, projectId: project.id }
    const { id: templateId } = await templates.create({ body: named })
    const field = { key: 'points', label: 'Points', value: '{{balance.points}}', as: 'number' as const }
    const definition = {
      design: { organizationName: 'Acme', description: 'Card', fields: { primary: [field] } },
      balances: { points: { label: 'Points', kind: 'integer' as const, start: 1_000 } },
    }
    const version = await templates.createVersion({ params: { id: templateId }, body: { definition } })
    await templateVersions.publish({ params: { id: version.id } })
    const { id } = await passes.create({ body: { templateId, externalPassId: 'stamps-1', label: 'Ada' } })
    await until(async () => (await passes.get({ params: { id } })).status === 'ISSUED')
    const { hostedLinks } = await passes.get({ params: { id } })
    const folder = temporaryFolder()
    await device(server, folder, 'install', hostedLinks.apple!, '--platform', 'apple', '--device', 'iphone')
    await device(server, folder, 'install', hostedLinks.google!, '--platform', 'google', '--device', 'android')
    await until(async () => (await passes.wallets({ params: { id } })).google !== null)

    const pushed = async () => {
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const { items } = await projects.figures({ params: { id: project.id }, query: { from, by: 'hour' } })
      return items.reduce((sum, item) => sum + item.pushed, 0)
    }
    const before = await pushed()
    const entry = (n: number) => ({ params: { id, name: 'points' }, body: { delta: -1, externalRef: `spend-${n}` } })
    const began = performance.now()
    await Promise.all(Array.from({ length: 100 }, (_, n) => balances.createEntry(entry(n))))
    const took = performance.now() - began
    await until(async () => {
      const { walletVersion, apple, google } = await passes.wallets({ params: { id } })
      return apple[0]?.pushedVersion === walletVersion && google?.sentVersion === walletVersion
    })
    const pushes = (await pushed()) - before
    expect(pushes).toBeGreaterThan(0)
    // A busy machine can need more than a second to add the entries. many-phones.test.ts checks the number of pushes with a
    // stopped clock, and bench/loyalty.ts measures the time until both phones have the last value.
    expect(pushes).toBeLessThanOrEqual(1 + Math.ceil(took / 1_000))
    expect(await device(server, folder, 'open', 'iphone')).toContain('900')
    expect(await device(server, folder, 'open', 'android')).toContain('900')
  })

  test('a phone that polls is notified once of each change, and fetches only new content', async () => {
    const server = await shared()
    const pass = await createPass(server)
    const { serialNumber, authenticationToken, passTypeIdentifier } = await passJson(server, pass.id)
    const base = `${server.url}/apple/v1`
    const authorization = { authorization: `ApplePass ${authenticationToken}` }
    const registration = `${base}/devices/device-1/registrations/${passTypeIdentifier}/${serialNumber}`
    const body = JSON.stringify({ pushToken: await newPushToken(server, passTypeIdentifier!) })
    const register = (headers: Record<string, string>) => fetch(registration, { method: 'POST', headers, body })
    const changed = (tag = '') =>
      fetch(`${base}/devices/device-1/registrations/${passTypeIdentifier}?passesUpdatedSince=${tag}`)
    const latest = `${base}/passes/${passTypeIdentifier}/${serialNumber}`

    expect((await register({ authorization: 'ApplePass wrong' })).status).toBe(401)
    expect((await register(authorization)).status).toBe(201)
    expect((await register(authorization)).status).toBe(200)
    expect((await changed()).status).toBe(204)

    const first = await fetch(latest, { headers: authorization })
    const modified = first.headers.get('last-modified')!
    const again = await fetch(latest, { headers: { ...authorization, 'if-modified-since': modified } })
    expect([first.status, again.status]).toEqual([200, 304])

    await server.client.passes.update({ params: { id: pass.id }, body: { label: 'Grace' } })
    await until(async () => (await changed()).status === 200)
    const { serialNumbers, lastUpdated } = (await (await changed()).json()) as Record<string, unknown>
    expect([serialNumbers, typeof lastUpdated]).toEqual([[pass.id], 'string'])
    expect((await changed(String(lastUpdated))).status).toBe(204)
    const fresh = await fetch(latest, { headers: { ...authorization, 'if-modified-since': modified } })
    expect(fresh.status).toBe(200)
    expect(Date.parse(fresh.headers.get('last-modified')!)).toBeGreaterThanOrEqual(Date.parse(modified) + 1000)

    expect((await fetch(registration, { method: 'DELETE', headers: authorization })).status).toBe(200)
    expect((await changed()).status).toBe(404)
  })
})

async function createPass(server: TestServer, projectId?: string): Promise<Pass> {
  const args = ['template', 'push', loyalty, '--publish', '--json', ...(projectId ? ['--project', projectId] : [])]
  const { templateId } = JSON.parse((await run(args, server)).stdout) as { templateId: string }
  const variables = { points: '10', tier: 'Silver', memberSince: '2020-01-01' }
  const body = { templateId, externalPassId: 'member-1', label: 'Ada', variables }
  const { id } = await server.client.passes.create({ body })
  await until(async () => (await server.client.passes.get({ params: { id } })).status === 'ISSUED')
  return server.client.passes.get({ params: { id } })
}

/** Gets a push token like a phone does when it is set up. */
async function newPushToken(server: TestServer, topic: string): Promise<string> {
  const directory = (await (await fetch(`${server.url}/sandbox`)).json()) as { apple: { control: string } }
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ topic }) }
  const answer = (await (await fetch(`${directory.apple.control}/tokens`, init)).json()) as Record<string, string>
  return answer.pushToken ?? answer.token!
}

async function passJson(server: TestServer, id: string): Promise<Record<string, string>> {
  const preview = await server.client.passes.preview({ params: { id }, query: { platform: 'apple' } })
  return (preview as { apple: Record<string, string> }).apple
}

async function device(server: TestServer, folder: string, ...args: string[]): Promise<string> {
  const [command, ...rest] = args as [string, ...string[]]
  const { exitCode, stdout, stderr } = await run(['device', command, ...rest, '--data-dir', folder], server)
  expect(exitCode, stderr).toBe(0)
  return stdout
}

function until(isDone: () => Promise<boolean>): Promise<void> {
  return eventually(async () => expect(await isDone()).toBe(true))
}
