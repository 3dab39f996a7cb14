import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { behaviours, dealBehaviours, parseMix } from '../../bench/support/fleet/behaviour.ts'
import { createFleet, type Fleet } from '../../bench/support/fleet/fleet.ts'
import { deviceIdOf, type FleetPhone, pushTokenOf } from '../../bench/support/fleet/fleet-phone.ts'
import { createRandom } from '../../bench/support/random.ts'
import type { SandboxApple } from '../../src/wallets/sandbox/apple/certificates.ts'
import { createChain, type Service, serial, startService, type } from '../cli/device/service.ts'
import { eventually } from '../support/eventually.ts'

let chain: SandboxApple
beforeAll(async () => {
  chain = await createChain()
})

const named = (name: string) => behaviours.find((behaviour) => behaviour.name === name)!

test('deals a mix in whole phones near its shares, and equally for equal seeds', () => {
  const mix = parseMix('awake=90, asleep=5,deaf=5')
  const dealt = (seed: string, phones: number) =>
    dealBehaviours(mix, phones, createRandom(seed)).map((behaviour) => behaviour.name)
  const countOf = (name: string) => dealt('a', 1_000).filter((one) => one === name).length
  expect(['awake', 'asleep', 'deaf'].map(countOf)).toEqual([900, 50, 50])
  expect(dealt('a', 1_000)).toEqual(dealt('a', 1_000))
  expect(dealt('b', 1_000)).not.toEqual(dealt('a', 1_000))
  for (const phones of [1, 7, 333]) expect(dealt('a', phones)).toHaveLength(phones)
})

test.each([
  '',
  'awake',
  'awake=',
  'awake=x',
  'awake=-1',
  'awake=Infinity',
  'awake=1e308,deaf=1e308',
  'woken=1',
  'awake=1=2',
  'awake=1,awake=2',
  'awake=0',
])('rejects the mix %j', (text) => {
  expect(() => parseMix(text)).toThrow(/--mix/)
})

/** Creates a fleet that receives pushes, with a phone of each named behavior. Each phone has the pass. */
async function fleetOf(service: Service, names: string[], speed = 1): Promise<Fleet> {
  const fleet = createFleet({
    id: '00c0ffee00c0ffee',
    webServiceURL: `${service.url}/apple`,
    passTypeIdentifier: type,
    locateApns: async () => service.apns.control,
    random: createRandom('seed'),
    speed,
  })
  onTestFinished(() => fleet.close())
  await fleet.listen()
  const { authenticationToken } = service.state.pass
  for (const name of names) {
    const pass = { serialNumber: serial, authenticationToken, lastModified: new Date(1000).toUTCString() }
    expect(await fleet.register(fleet.add(named(name), []), pass)).toBe(true)
  }
  return fleet
}

const held = ({ phones }: Fleet) =>
  phones.map(({ passes }) => passes.map(({ lastModified }) => Date.parse(lastModified!) / 1000))

test('after a push, awake phones fetch the pass; sleeping, unreachable, or stuck ones do not', async () => {
  const service = await startService(chain)
  const fleet = await fleetOf(service, ['awake', 'deaf', 'asleep', 'stuck', 'awake'], 100)
  service.change({ seat: 'B-7' })
  await service.push()
  await eventually(() => {
    expect(held(fleet)).toEqual([[2], [1], [1], [1], [2]])
    expect(fleet.counts).toMatchObject({ pushes: 5, asked: 3, fetched: 2, problems: 0 })
  })
  expect(fleet.phones.map(({ toldAt }) => toldAt > 0)).toEqual([false, true, true, true, false])
  expect(fleet.delays).toHaveLength(2)
  // The other phones have no changes. The deaf one fetches its missed updates when its owner opens it.
  for (const phone of fleet.phones) fleet.wake(phone)
  await eventually(() => expect(held(fleet)).toEqual([[2], [2], [2], [1], [2]]))
  expect(fleet.counts.fetched).toBe(4)
})

test('a phone returns after days of sleep, and a throttled one fetches several changes at once', async () => {
  const service = await startService(chain)
  // A day of the phones takes a tenth of a second.
  const fleet = await fleetOf(service, ['asleep', 'throttled'], 864_000)
  for (const seat of ['B', 'C', 'D']) {
    service.change({ seat })
    await service.push()
  }
  await eventually(() => {
    expect(held(fleet)).toEqual([[4], [4]])
    // The last push can arrive after a fetch that already returned its change.
    expect(fleet.phones.map(({ toldAt }) => toldAt)).toEqual([0, 0])
  })
})

test('rejected phones retry, and a pass that no longer exists disappears from the phone', async () => {
  const service = await startService(chain)
  const fleet = await fleetOf(service, ['awake', 'awake'], 100)
  const [first, other] = fleet.phones as [FleetPhone, FleetPhone]
  let refusals = 0
  service.state.override = ({ method }) => {
    if (method !== 'GET' || refusals === 3) return undefined
    refusals += 1
    return { status: 503 }
  }
  service.change({ seat: 'B-7' })
  await service.push()
  await eventually(() => expect(held(fleet)).toEqual([[2], [2]]))
  expect(fleet.counts).toMatchObject({ busy: 3, problems: 0 })
  service.state.override = ({ path }) => (path.startsWith('/passes/') ? { status: 401 } : undefined)
  service.change({ seat: 'C-8' })
  fleet.wake(first)
  await eventually(() => expect(held(fleet)).toEqual([[], [2]]))
  expect(await fleet.isBehind(other, other.passes[0]!)).toBe(false)
  service.state.override = () => undefined
  expect(await fleet.isBehind(other, other.passes[0]!)).toBe(true)
})

test('a fleet receives pushes from while it was offline, and a wiped phone has a new token', async () => {
  const service = await startService(chain)
  const before = await fleetOf(service, ['awake'], 100)
  await before.close()
  service.change({ seat: 'B-7' })
  await service.push()
  const fleet = createFleet({
    id: before.id,
    webServiceURL: `${service.url}/apple`,
    passTypeIdentifier: type,
    locateApns: async () => service.apns.control,
    random: createRandom('seed'),
    speed: 100,
  })
  onTestFinished(() => fleet.close())
  const { authenticationToken } = service.state.pass
  const pass = { serialNumber: serial, authenticationToken, lastModified: null }
  const phone = fleet.add(named('awake'), [pass])
  await fleet.listen()
  await eventually(() => expect(held(fleet)).toEqual([[2]]))
  const token = pushTokenOf(fleet.id, phone)
  await fleet.wipe(phone)
  await expect(service.push()).rejects.toThrow('410')
  expect(phone.passes).toEqual([])
  expect(pushTokenOf(fleet.id, phone)).not.toBe(token)
  // After it is restored from a backup, a phone is the same device for the service.
  expect(await fleet.register(phone, { ...pass })).toBe(false)
  expect(service.registrations.get(deviceIdOf(fleet.id, phone))).toBe(pushTokenOf(fleet.id, phone))
  service.change({ seat: 'C-8' })
  await service.push()
  await eventually(() => expect(held(fleet)).toEqual([[3]]))
  await fleet.unregister(phone, phone.passes[0]!)
  expect(service.registrations.size).toBe(0)
})
