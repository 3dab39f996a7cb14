import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { behaviours } from '../../../bench/support/fleet/behaviour.ts'
import { createFleet, type Fleet } from '../../../bench/support/fleet/fleet.ts'
import { deviceIdOf, type FleetPhone } from '../../../bench/support/fleet/fleet-phone.ts'
import { createRandom } from '../../../bench/support/random.ts'
import type { PassJson } from '../../../src/cli/device/apple-pass-json.ts'
import type { PassSecret } from '../../../src/cli/device/passkit.ts'
import { deviceDigest } from '../../../src/core/ids.ts'
import { oneDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import { freePort } from '../../support/ports.ts'
import { batchOf, inspect, publishTemplate } from '../support/passes.ts'
import { findApns } from '../support/phone.ts'
import { type ServerProcess, startServer } from '../support/server.ts'

const OPERATIONS = times(150, 10_000)
const KILLS = times(1, 12)
/** A killed worker keeps its jobs for the ten seconds of their lease. */
const TIMEOUT_MS = times(300_000, 1_800_000)
const PASSES = 24
const PHONES = 10
const AT_ONCE = 10

describe.each(oneDialect)('on %s', (dialect) => {
  test(`${OPERATIONS} installs, removals, wipes, and restores with ${KILLS} kills match events and counts`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const seed = String(Date.now())
    const random = createRandom(seed)
    const port = String(await freePort())
    let server = await startServer({ dialect, port })
    const { client, database, token } = server
    const { id: projectId } = await client.projects.create({ body: { name: 'Fair' } })
    const secrets = await issue(server, projectId)
    const fleet = await openFleet(server, secrets[0]!.passTypeIdentifier)
    const { id: workspaceId } = await client.workspace.get({})
    const shownIdOf = (phone: FleetPhone) => deviceDigest(workspaceId, deviceIdOf(fleet.id, phone))
    const awake = behaviours.find(({ name }) => name === 'awake')!
    for (let n = 0; n < PHONES; n += 1) fleet.add(awake, [])
    const model = createModel()
    const { rows } = inspect(database)
    // Jobs of a killed worker are rescued when its lease ends.
    const drained = () => eventually(async () => expect(await rows('jobs')).toEqual([]))

    async function change(phone: FleetPhone, secret: PassSecret): Promise<void> {
      const held = phone.passes.find(({ serialNumber }) => serialNumber === secret.serialNumber)
      if (!held) {
        await fleet.register(phone, { ...secret, lastModified: null })
        model.set(secret.serialNumber, phone, true)
      } else if (random.next() < 0.3) {
        expect(await fleet.register(phone, held)).toBe(false)
      } else {
        await fleet.unregister(phone, held)
        model.set(secret.serialNumber, phone, false)
      }
    }

    /** Restores the phone from a backup before the server learns of it, or after, or never. */
    async function wipe(phone: FleetPhone): Promise<void> {
      const lost = phone.passes
      const restore = async () => {
        const isNew = await Promise.all(lost.map((pass) => fleet.register(phone, pass)))
        for (const { serialNumber } of lost) model.set(serialNumber, phone, true)
        return isNew
      }
      // No push is in flight that would tell the server.
      await drained()
      await fleet.wipe(phone)
      if (random.next() < 0.3) {
        expect(await restore()).toEqual(lost.map(() => false))
        return
      }
      const deviceId = shownIdOf(phone)
      await Promise.all(
        lost.map(async ({ serialNumber: id }) => {
          await client.passes.update({ params: { id }, body: { label: `Guest ${random.next()}` } })
          await eventually(async () => expect(await devicesOf(server, id)).not.toContain(deviceId))
          model.set(id, phone, false)
        }),
      )
      if (random.next() < 0.5) expect(await restore()).toEqual(lost.map(() => true))
    }

    const killAt = new Set(Array.from({ length: KILLS }, (_, n) => Math.floor(((n + 0.5) * OPERATIONS) / KILLS)))
    let done = 0
    while (done < OPERATIONS) {
      // Use a different pass for each, so that its result is known.
      const chosen = random.shuffle(secrets).slice(0, AT_ONCE)
      const changes = Promise.all(chosen.map((secret) => change(random.pick(fleet.phones), secret)))
      const isKilled = [...killAt].some((at) => at >= done && at < done + AT_ONCE)
      if (isKilled) {
        await sleep(random.between(0, 20))
        await server.kill()
        server = await startServer({ dialect, port, database, token })
      }
      await changes
      done += AT_ONCE
      const wiped = random.pick(fleet.phones)
      if (random.next() < 0.15 && wiped.passes.length > 0) await wipe(wiped)
    }

    await drained()
    const events = (await rows('events')).toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
    const toldOf = (id: string) =>
      events.filter(({ type, subject }) => subject === id && /^pass\.(installed|removed)$/.test(String(type)))
    for (const { serialNumber: id } of secrets) {
      const held = fleet.phones.filter(({ passes }) => passes.some(({ serialNumber }) => serialNumber === id))
      const devices = held.map(shownIdOf).toSorted()
      expect((await devicesOf(server, id)).toSorted(), `seed ${seed}`).toEqual(devices)
      const told = toldOf(id).map(({ type, data }) => [type, JSON.parse(String(data)).devices])
      expect(told, `seed ${seed}`).toEqual(model.toldOf(id))
    }
    const { items } = await client.projects.figures({
      params: { id: projectId },
      query: { from: new Date(Date.now() - 3 * 3_600_000).toISOString(), by: 'hour' },
    })
    const sum = (what: 'installed' | 'removed') => items.reduce((all, item) => all + item[what].apple, 0)
    const all = secrets.flatMap(({ serialNumber }) => model.toldOf(serialNumber))
    const count = (type: string) => all.filter(([told]) => told === type).length
    expect([sum('installed'), sum('removed')]).toEqual([count('pass.installed'), count('pass.removed')])
  })
})

/**
 * Creates a model of the phones with the expected events: a pass is installed with its first device and removed with
 * its last.
 */
function createModel() {
  const devices = new Map<string, Set<number>>()
  const told = new Map<string, [type: string, devices: number][]>()
  return {
    set(passId: string, { index }: FleetPhone, isHeld: boolean): void {
      const own = devices.get(passId) ?? new Set()
      devices.set(passId, own)
      const before = own.size
      if (isHeld) own.add(index)
      else own.delete(index)
      const list = told.get(passId) ?? []
      told.set(passId, list)
      if (before === 0 && own.size > 0) list.push(['pass.installed', 1])
      if (before > 0 && own.size === 0) list.push(['pass.removed', 0])
    },
    toldOf: (passId: string) => told.get(passId) ?? [],
  }
}

async function issue({ client }: ServerProcess, projectId: string): Promise<PassJson[]> {
  const templateId = await publishTemplate(client, undefined, projectId)
  await client.passes.createBatch({ body: { passes: batchOf(templateId, 'held', PASSES) } })
  const query = { templateId: [templateId], status: ['ISSUED' as const], limit: 100 }
  const { items } = await eventually(async () => {
    const page = await client.passes.list({ query })
    expect(page.total).toBe(PASSES)
    return page
  })
  const previews = items.map(({ id }) => client.passes.preview({ params: { id }, query: { platform: 'apple' } }))
  return (await Promise.all(previews)).map((preview) => (preview as unknown as { apple: PassJson }).apple)
}

async function openFleet(server: ServerProcess, passTypeIdentifier: string): Promise<Fleet> {
  const fleet = createFleet({
    id: '00c0ffee00c0ffee',
    webServiceURL: `${server.url}/apple`,
    passTypeIdentifier,
    locateApns: async () => (await findApns(server)).control,
    random: createRandom('fleet'),
    speed: 1_000,
  })
  onTestFinished(() => fleet.close())
  await fleet.listen()
  return fleet
}

async function devicesOf({ client }: ServerProcess, id: string): Promise<string[]> {
  return (await client.passes.wallets({ params: { id } })).apple.map(({ deviceId }) => deviceId)
}
