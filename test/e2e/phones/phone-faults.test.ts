import { describe, expect, test } from 'vitest'
import type { PassJson } from '../../../src/cli/device/apple-pass-json.ts'
import { dialects, migratedDatabase, oneDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { inspect } from '../support/passes.ts'
import { findApns, listenForPushes, newPhone, newPhones, setFaults } from '../support/phone.ts'
import { hostServer, type ServerOptions, sandboxFolder, startServer, type TestServer } from '../support/server.ts'

// These tests are slow: they start several servers one by one and wait for the end of leases.

const UPDATES = times(25, 50)
const BURST = times(60, 500)

describe.each(dialects)('on %s', (dialect) => {
  test(`a phone that fetches during ${UPDATES} changes of its pass never goes back, and ends on the last`, async () => {
    const { server, passId, update } = await openPass(await hostServer({ dialect }))
    const phone = await newPhone(server, passId, 'device')
    await phone.register(server)
    const seen: string[] = []
    let tag: string | undefined
    let since: string | undefined
    const look = async () => {
      const changed = await phone.listChanged(server, tag)
      if (!changed) return
      const fetched = await phone.fetch(server, since)
      if (fetched) {
        if (since) expect(Date.parse(fetched.lastModified)).toBeGreaterThan(Date.parse(since))
        seen.push(holderOf(fetched.content))
        since = fetched.lastModified
      }
      if (tag) expect(Number(changed.lastUpdated.slice(1))).toBeGreaterThan(Number(tag.slice(1)))
      tag = changed.lastUpdated
    }
    let isChanging = true
    const looking = async () => {
      while (isChanging) await look()
    }
    const changing = async () => {
      for (let n = 1; n <= UPDATES; n += 1) await update(`holder ${n}`)
      isChanging = false
    }
    await Promise.all([looking(), changing()])
    await eventually(async () => {
      await look()
      expect(seen.at(-1)).toBe(`holder ${UPDATES}`)
    })
    const numbers = seen.map((holder) => Number(/\d+$/.exec(holder)?.[0] ?? 0))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    expect(new Set(numbers).size).toBe(numbers.length)
    // A phone that fetched the pass before its announcement still gets the announcement, once.
    await eventually(async () => expect(await inspect(server.database).rows('jobs')).toEqual([]))
    await look()
    expect(await phone.fetch(server, since)).toBeUndefined()
    expect(await phone.listChanged(server, tag)).toBeUndefined()
    expect(seen.at(-1)).toBe(`holder ${UPDATES}`)
  })

  test(`${BURST} phones that register at the same time are all kept and pushed`, async () => {
    const { server, passId, update } = await openPass(await hostServer({ dialect }))
    const deviceIds = Array.from({ length: BURST }, (_, n) => `device-${n}`)
    const phones = await newPhones(server, passId, deviceIds)
    await Promise.all(
      phones.map((phone) =>
        eventually(async () => expect([200, 201]).toContain(await phone.register(server)), { interval: 100 }),
      ),
    )
    await update('Grace')
    await eventually(async () => {
      const { apple } = await server.client.passes.wallets({ params: { id: passId } })
      expect(new Set(apple.map(({ deviceId }) => deviceId)).size).toBe(BURST)
      expect(apple.filter(({ pushedVersion }) => pushedVersion !== 2)).toEqual([])
    })
  })
})

// One database is enough. The emulators and the clients of Apple use none, and crash.test.ts checks the jobs after kills on
// both.
describe.each(oneDialect)('on %s', (dialect) => {
  test('a server that is killed between commit and push leaves a phone that ends current', async () => {
    const fleet = await openFleet(dialect)
    // This server runs no jobs, so nothing is pushed before it is killed.
    const api = await fleet.start({ args: ['--role', 'api'] })
    const { passId, update } = await openPass(api, fleet)
    const phone = await newPhone(api, passId, 'device')
    await phone.register(api)
    await update('Grace')
    await api.kill()

    const server = await fleet.host({ token: api.token })
    const pushes = await listenForPushes(server, phone)
    await eventually(() => expect(pushes.count()).toBe(1))
    const changed = await phone.listChanged(server)
    expect(changed?.serialNumbers).toEqual([passId])
    expect(holderOf((await phone.fetch(server))!.content)).toBe('Grace')
    await expectCurrent(server, passId)
  })

  test('a worker that is killed between push and acknowledgement leaves a phone that ends current', async () => {
    const fleet = await openFleet(dialect)
    const api = await fleet.host({ args: ['--role', 'api'] })
    const worker = await fleet.start({ args: ['--role', 'worker'], token: api.token })
    const { passId, update } = await openPass(api)
    const phone = await newPhone(api, passId, 'device')
    await phone.register(api)
    const pushes = await listenForPushes(api, phone)
    await setFaults(api, 'apns-hold')
    await update('Grace')
    await eventually(() => expect(pushes.count()).toBe(1))
    await worker.kill()
    expect((await api.client.passes.wallets({ params: { id: passId } })).apple[0]?.pushedVersion).toBeNull()

    await setFaults(api)
    await fleet.host({ args: ['--role', 'worker'], token: api.token })
    await eventually(() => expect(pushes.count()).toBe(2))
    expect(holderOf((await phone.fetch(api))!.content)).toBe('Grace')
    await expectCurrent(api, passId)
  })

  test('while APNs is down the API answers and nothing is lost; up again, everything drains', async () => {
    const { server, passId, update } = await openPass(await hostServer({ dialect }))
    const phones = await newPhones(server, passId, ['device-1', 'device-2', 'device-3'])
    for (const phone of phones) await phone.register(server)
    await setFaults(server, 'apns-down')
    for (let n = 1; n <= 20; n += 1) await update(`holder ${n}`)
    await eventually(async () => {
      const { apple } = await server.client.passes.wallets({ params: { id: passId } })
      expect(apple.map(({ state, lastError }) => [state, lastError?.split(':')[0]])).toEqual(
        phones.map(() => ['stale', 'APPLE_APNS_FAILED']),
      )
    })
    await update('Grace')
    await setFaults(server)
    await eventually(async () => {
      const { apple, walletVersion } = await server.client.passes.wallets({ params: { id: passId } })
      expect(apple.map(({ pushedVersion, lastError }) => [pushedVersion, lastError])).toEqual(
        phones.map(() => [walletVersion, null]),
      )
      expect(await inspect(server.database).rows('jobs')).toEqual([])
    })
    for (const phone of phones) expect(holderOf((await phone.fetch(server))!.content)).toBe('Grace')
  })

  test('one of several servers runs the shared sandbox; after a kill, another takes over every phone', async () => {
    const fleet = await openFleet(dialect)
    const first = await fleet.start()
    const second = await fleet.host({ token: first.token })
    const played = await findApns(first)
    expect(await findApns(second)).toEqual(played)
    const { passId, update } = await openPass(second)
    const phone = await newPhone(first, passId, 'device')
    await phone.register(second)
    await openGoogleLink(second, passId)
    await first.kill()

    await eventually(async () => {
      const { control } = await findApns(second)
      expect(control).not.toBe(played.control)
    })
    const pushes = await listenForPushes(second, phone)
    await update('Grace')
    await eventually(() => expect(pushes.count()).toBe(1))
    await eventually(async () => {
      const { google, walletVersion } = await second.client.passes.wallets({ params: { id: passId } })
      expect(google?.sentVersion).toBe(walletVersion)
    })
    await second.stop()
    const third = await fleet.host({ token: first.token })
    await setFaults(third)
    const again = await listenForPushes(third, phone)
    await third.client.passes.void({ params: { id: passId } })
    await eventually(() => expect(again.count()).toBe(1))
  })
})

/** Starts servers on one database with one sandbox folder. */
async function openFleet(dialect: (typeof dialects)[number]) {
  const database = await migratedDatabase(dialect)
  const env = { PASSES_SANDBOX_DIR: sandboxFolder() }
  return {
    /** Runs in a separate process, which the test kills. */
    start: (options: ServerOptions = {}) => startServer({ ...options, database, env }),
    host: (options: ServerOptions = {}) => hostServer({ ...options, database, env }),
  }
}

/** Creates an issued pass with its holder on the front, and a function that changes the holder. */
async function openPass(server: TestServer, fleet?: Awaited<ReturnType<typeof openFleet>>) {
  const { passes } = server.client
  const templateId = await publishTemplate(server)
  const { id: passId } = await passes.create({ body: { templateId, externalPassId: 'pass-1', label: 'Ada' } })
  const update = (label: string) => passes.update({ params: { id: passId }, body: { label } })
  if (!fleet) {
    await eventually(async () => {
      expect((await passes.get({ params: { id: passId } })).status).toBe('ISSUED')
    })
  }
  return { server, passId, update }
}

/** Publishes a template with the holder on the front. */
async function publishTemplate({ client: { templates, templateVersions } }: TestServer): Promise<string> {
  const { id } = await templates.create({ body: { name: 'Ticket', passType: 'generic' } })
  const fields = { primary: [{ key: 'holder', label: 'Holder', value: '{{pass.label}}' }] }
  const definition = { design: { organizationName: 'Acme', description: 'Ticket', fields } }
  const version = await templates.createVersion({ params: { id }, body: { definition } })
  await templateVersions.publish({ params: { id: version.id } })
  return id
}

function holderOf({ generic }: PassJson): string {
  return String((generic as { primaryFields: { value: string }[] }).primaryFields[0]?.value)
}

async function openGoogleLink(server: TestServer, passId: string): Promise<void> {
  const { hostedLinks } = await server.client.passes.get({ params: { id: passId } })
  const { pathname } = new URL(hostedLinks.google!)
  const answer = await fetch(`${server.url}${pathname}`, { redirect: 'manual' })
  expect(answer.status).toBe(302)
}

async function expectCurrent(server: TestServer, passId: string): Promise<void> {
  await eventually(async () => {
    const { apple, walletVersion } = await server.client.passes.wallets({ params: { id: passId } })
    expect(apple).toMatchObject([{ state: 'current', pushedVersion: walletVersion, lastError: null }])
  })
}
