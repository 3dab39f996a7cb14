import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { createLimits } from '../../../src/server/admission/rate-limit.ts'
import { emitRemovals } from '../../../src/server/wallet-sync/holders.ts'
import type { OutdatedRegistration } from '../../../src/storage/passes/registrations.ts'
import { useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { issuedPass, passBody, publishedTemplate } from '../fixtures.ts'

const type = 'pass.test.api'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test.each(['%00', 'a%00b', '%ED%A0%80', '%E0%A4%A', 'x'.repeat(256)])('rejects the device ID %s', async (device) => {
    expect((await api.send('GET', `/apple/v1/devices/${device}/registrations/${type}`)).status).toBe(400)
  })

  test.each(['%00', '%E0%A4%A', '..%2f'])('rejects the pass type and serial number %s', async (part) => {
    const { status } = await api.send('GET', `/apple/v1/passes/${part}/${part}`)
    expect([400, 401]).toContain(status)
  })

  test('a pass accepts 10,000 devices and rejects the next, and registered devices can register again', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const stored = (await api.services.store.passes.find(workspace.id, pass.id))!
    const register = async (device: string) => {
      const path = `/apple/v1/devices/${device}/registrations/${type}/${pass.id}`
      const headers = { authorization: `ApplePass ${stored.appleToken}` }
      return (await api.send('POST', path, { body: { pushToken: 'push' }, headers })).status
    }
    const registration = { workspace_id: workspace.id, pass_id: pass.id, push_token: 'push', registered_at: 1 }
    const rows = Array.from({ length: 9_999 }, (_, n) => ({
      ...registration,
      device_id: `device-${n}`,
      pushed_version: 0,
      fetched_version: 0,
    }))
    await api.database.writer.batchInsert('apple_registrations', rows, 100)
    const warn = vi.spyOn(api.services.log, 'warn')
    onTestFinished(() => warn.mockRestore())
    expect(await register('the-last')).toBe(201)
    expect(await register('one-more')).toBe(403)
    expect(await register('another')).toBe(403)
    expect(await register('the-last')).toBe(200)
    expect(warn).toHaveBeenCalledOnce()
  })

  test('a phone without a tag gets every registered pass, changed or not', async () => {
    const workspace = await api.workspace()
    const passes = [await issuedPass(workspace), await issuedPass(workspace), await issuedPass(workspace)]
    const list = async (query = '') => {
      const answer = await api.send('GET', `/apple/v1/devices/the-phone/registrations/${type}${query}`)
      return { status: answer.status, ...(answer.body as { serialNumbers?: string[]; lastUpdated?: string }) }
    }
    expect(await list()).toMatchObject({ status: 204 })
    for (const pass of passes) {
      const stored = (await api.services.store.passes.find(workspace.id, pass.id))!
      const path = `/apple/v1/devices/the-phone/registrations/${type}/${pass.id}`
      const headers = { authorization: `ApplePass ${stored.appleToken}` }
      expect((await api.send('POST', path, { body: { pushToken: 'push' }, headers })).status).toBe(201)
    }
    const all = await list()
    expect([all.status, all.serialNumbers?.toSorted()]).toEqual([200, passes.map(({ id }) => id).toSorted()])
    // The passes have not changed since.
    expect(await list(`?passesUpdatedSince=${all.lastUpdated}`)).toMatchObject({ status: 204 })
    await workspace.ok(contract.passes.update, { params: { id: passes[1]!.id }, body: { label: 'Grace' } })
    await api.runJobs()
    const changed = await list(`?passesUpdatedSince=${all.lastUpdated}`)
    expect(changed).toMatchObject({ status: 200, serialNumbers: [passes[1]!.id] })
    expect(await list(`?passesUpdatedSince=${changed.lastUpdated}`)).toMatchObject({ status: 204 })
    expect((await list()).serialNumbers).toHaveLength(3)
  })

  async function issued() {
    const workspace = await api.workspace()
    const { id, externalPassId, projectId } = await issuedPass(workspace)
    const call = async (method: 'POST' | 'DELETE', device: string) => {
      const { appleToken } = (await api.services.store.passes.find(workspace.id, id))!
      const path = `/apple/v1/devices/${device}/registrations/${type}/${id}`
      const headers = { authorization: `ApplePass ${appleToken}` }
      const body = { pushToken: `push${device.replace('-', '')}` }
      return (await api.send(method, path, { ...(method === 'POST' && { body }), headers })).status
    }
    const told = async () =>
      (await workspace.events(id)).filter(({ type }) => type === 'pass.installed' || type === 'pass.removed')
    const devices = async () => (await workspace.ok(contract.passes.wallets, { params: { id } })).apple.length
    return { workspace, id, externalPassId, projectId, call, told, devices }
  }

  test('pushes a phone that registers again with an outdated pass, and not one that has fetched it', async () => {
    const { workspace, id, call } = await issued()
    const { registrations } = api.services.store
    const pushed = async () => {
      const outdated = await registrations.listOutdated(workspace.id, [id])
      const jobs = await api.database.reader('jobs').where({ kind: 'update-apple', subject: id }).pluck('subject')
      await api.database.writer('jobs').where({ kind: 'update-apple', subject: id }).delete()
      return { devices: outdated.map(({ deviceId }) => deviceId), jobs: jobs.length }
    }
    await call('POST', 'one')
    await call('POST', 'two')
    await workspace.ok(contract.passes.update, { params: { id }, body: { label: 'Grace' } })
    const { walletVersion: version } = (await api.services.store.passes.find(workspace.id, id))!
    const setPushed = async (lookedUp: OutdatedRegistration[]) => {
      const pushes = lookedUp.map((one) => ({ ...one, version }))
      await api.services.store.transaction((tx) => tx.registrations.setPushed(workspace.id, pushes, api.now))
    }
    const outdated = () => registrations.listOutdated(workspace.id, [id])
    await setPushed(await outdated())
    await pushed()
    expect(await call('POST', 'one')).toBe(200)
    expect(await pushed()).toEqual({ devices: ['one'], jobs: 1 })
    // A push that was sent before the phone was restored is recorded afterwards. It reached the previous phone.
    const before = await outdated()
    expect(await call('POST', 'one')).toBe(200)
    await setPushed(before)
    expect(await pushed()).toEqual({ devices: ['one'], jobs: 1 })
    await setPushed(await outdated())
    expect(await pushed()).toEqual({ devices: [], jobs: 0 })
    await api.services.store.transaction(async (tx) => {
      await tx.deviceLists.setListed('one', [id], api.now)
      await tx.registrations.setFetched(workspace.id, id, version, api.now)
    })
    expect(await call('POST', 'one')).toBe(200)
    expect(await pushed()).toEqual({ devices: [], jobs: 0 })
  })

  test('a pass is installed with its first device and removed with its last; others emit no events', async () => {
    const { id, externalPassId, projectId, call, told } = await issued()
    const steps = [
      ['POST', 'one', 201],
      ['POST', 'one', 200],
      ['POST', 'two', 201],
      ['DELETE', 'one', 200],
      ['DELETE', 'one', 200],
      ['DELETE', 'two', 200],
      ['POST', 'one', 201],
    ] as const
    for (const [method, device, status] of steps) expect(await call(method, device)).toBe(status)
    const data = { id, externalPassId, projectId, platform: 'apple' }
    expect((await told()).map(({ type, data }) => [type, data])).toEqual([
      ['pass.installed', { ...data, devices: 1 }],
      ['pass.removed', { ...data, devices: 0 }],
      ['pass.installed', { ...data, devices: 1 }],
    ])
  })

  test('concurrent registrations and removals emit events in turn, and the last one is correct', async () => {
    const { call, told, devices } = await issued()
    const names = ['one', 'two', 'three']
    await Promise.all(names.map((name) => call('POST', name)))
    expect((await told()).map(({ type }) => type)).toEqual(['pass.installed'])
    for (let round = 0; round < times(4, 8); round += 1) {
      const calls = names.map((name, n) => call((round + n) % 3 === 0 ? 'POST' : 'DELETE', name))
      await Promise.all([...calls, ...(round % 4 === 3 ? names.map((name) => call('DELETE', name)) : [])])
      const types = (await told()).map(({ type }) => type)
      expect(types).toEqual(types.map((_, index) => (index % 2 === 0 ? 'pass.installed' : 'pass.removed')))
      expect(types.at(-1)).toBe((await devices()) > 0 ? 'pass.installed' : 'pass.removed')
    }
  })

  test('a device that Apple reports as gone has removed its passes; a transfer takes them from the holder', async () => {
    const { workspace, id, call, told } = await issued()
    await call('POST', 'one')
    await call('POST', 'two')
    const drop = (...tokens: string[]) =>
      api.services.store.transaction(async (tx) =>
        emitRemovals(tx, await tx.registrations.deleteByTokens(tokens, null), api.now),
      )
    await drop('pushone')
    expect(await told()).toHaveLength(1)
    await drop('pushtwo', 'pushone')
    expect((await told()).map(({ type }) => type)).toEqual(['pass.installed', 'pass.removed'])
    await call('POST', 'three')
    const { revision } = await workspace.ok(contract.passes.get, { params: { id } })
    const headers = { 'if-match': `${revision}` }
    await workspace.ok(contract.passes.transfer, { params: { id }, headers, body: { label: 'Grace' } })
    expect((await told()).slice(2).map(({ type, data }) => [type, data.devices])).toEqual([
      ['pass.installed', 1],
      ['pass.removed', 0],
    ])
  })

  test('include=wallets adds the wallets to a pass and to each page of a list', async () => {
    const { workspace, id, call } = await issued()
    const other = await issuedPass(workspace)
    await call('POST', 'one')
    const wallets = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(wallets.apple).toMatchObject([{ deviceId: expect.stringMatching(/^[0-9a-f]{12}$/), state: 'current' }])
    const plain = await workspace.ok(contract.passes.get, { params: { id } })
    expect(plain).not.toHaveProperty('wallets')
    const query = { include: 'wallets' as const }
    expect(await workspace.ok(contract.passes.get, { params: { id }, query })).toEqual({ ...plain, wallets })
    const first = await workspace.ok(contract.passes.list, { query: { limit: 1, ...query } })
    expect(first.items).toMatchObject([{ id: other.id, wallets: { passId: other.id, apple: [] } }])
    const second = { limit: 1, cursor: first.nextCursor! }
    const { items } = await workspace.ok(contract.passes.list, { query: { ...second, ...query } })
    expect(items).toEqual([{ ...plain, wallets }])
    expect((await workspace.ok(contract.passes.list, { query: second })).items).toEqual([plain])
    const unknown = { params: { id }, query: { include: 'scans' } as never }
    expect(await workspace.refused(contract.passes.get, unknown)).toMatchObject({ status: 400 })
    // The database now says that many phones have the pass.
    await api.database.writer('held_passes').where({ pass_id: id }).update({ apple: 10_001 })
    const crowd = await workspace.refused(contract.passes.list, { query })
    expect(JSON.stringify(crowd.details)).toContain('request fewer passes')
  })

  test("the device IDs that a workspace sees differ per workspace and open no list of a phone's passes", async () => {
    const [mine, other] = [await issued(), await issued()]
    for (const { call } of [mine, other]) expect(await call('POST', 'shared-phone')).toBe(201)
    const shown = await Promise.all(
      [mine, other].map(async ({ workspace, id }) => {
        const { apple } = await workspace.ok(contract.passes.wallets, { params: { id } })
        const { items } = await workspace.ok(contract.wallets.list, {})
        expect(apple.map(({ deviceId }) => deviceId)).toEqual(items.map(({ device }) => device))
        return apple[0]!.deviceId
      }),
    )
    expect(new Set(shown).size).toBe(2)
    const statusOf = async (device: string) =>
      (await api.send('GET', `/apple/v1/devices/${device}/registrations/${type}`)).status
    expect(await statusOf('shared-phone')).toBe(200)
    for (const device of shown) expect(await statusOf(device)).toBe(204)
  })

  test('each change within one second gets a later Last-Modified, so that phones miss none', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const fetched = async (since?: string) => {
      const { appleToken } = (await api.services.store.passes.find(workspace.id, id))!
      const headers = { authorization: `ApplePass ${appleToken}`, ...(since && { 'if-modified-since': since }) }
      const answer = await api.send('GET', `/apple/v1/passes/${type}/${id}`, { headers })
      return { status: answer.status, modified: answer.headers.get('last-modified')! }
    }
    let { modified } = await fetched()
    for (const label of ['Grace', 'Hedy', 'Radia']) {
      expect(await fetched(modified)).toEqual({ status: 304, modified })
      await workspace.ok(contract.passes.update, { params: { id }, body: { label } })
      const next = await fetched(modified)
      expect(next.status).toBe(200)
      expect(Date.parse(next.modified)).toBeGreaterThanOrEqual(Date.parse(modified) + 1000)
      modified = next.modified
    }
  })

  test('logs at most five messages of a device request, each cut to 300 characters', async () => {
    const warn = vi.spyOn(api.services.log, 'warn')
    onTestFinished(() => warn.mockRestore())
    const logs = Array.from({ length: 100 }, () => 'x'.repeat(600))
    expect((await api.send('POST', '/apple/v1/log', { body: { logs } })).status).toBe(200)
    const logged = warn.mock.calls.map(([facts]) => (facts as unknown as { message: string }).message)
    expect(logged).toEqual(Array(5).fill('x'.repeat(300)))
  })
})

describe('with limits', () => {
  const { removals, byAddress } = createLimits({ perSecond: 100, burst: 100 })
  const costs: (number | undefined)[] = []
  const wallets = (_: string, cost?: number) => void costs.push(cost)
  const api = useApi('sqlite', { limits: { removals, byAddress: { ...byAddress, wallets } } })

  test('a list of changed passes counts against the address for every ten passes of the device', async () => {
    const workspace = await api.workspace()
    const list = async () => {
      costs.length = 0
      await api.send('GET', `/apple/v1/devices/collector/registrations/${type}`)
      return costs.slice()
    }
    const costsByHeld: Record<number, (number | undefined)[]> = {}
    const template = await publishedTemplate(workspace)
    const passes = Array.from({ length: 20 }, () => passBody(template.id))
    const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
    await api.runJobs()
    for (const [index, { pass }] of results.entries()) {
      const [held, passId] = [index + 1, pass!.id]
      const device = { passId, deviceId: 'collector', pushToken: 'push' }
      await api.services.store.transaction((tx) => tx.registrations.insert(workspace.id, device, api.now))
      costsByHeld[held] = await list()
    }
    expect([costsByHeld[9], costsByHeld[10], costsByHeld[20]]).toEqual([[1], [1, 1], [1, 2]])
  })

  test('limits the events of a pass that is added and removed repeatedly', async () => {
    const workspace = await api.workspace()
    const [{ id }, other] = [await issuedPass(workspace), await issuedPass(workspace)]
    const call = async (method: 'POST' | 'DELETE', device: string, passId = id) => {
      const { appleToken } = (await api.services.store.passes.find(workspace.id, passId))!
      const path = `/apple/v1/devices/${device}/registrations/${type}/${passId}`
      const headers = { authorization: `ApplePass ${appleToken}` }
      return (await api.send(method, path, { headers, ...(method === 'POST' && { body: { pushToken: 'push' } }) }))
        .status
    }
    const answers: number[] = []
    for (let n = 0; n < 25; n++) {
      await call('POST', `device-${n}`)
      answers.push(await call('DELETE', `device-${n}`))
    }
    // The rejected connection stays open, and other connections are independent of it.
    expect(answers).toEqual([...Array(20).fill(200), 429, ...Array(4).fill(200)])
    const told = await api.database.reader('events').where({ workspace_id: workspace.id, type: 'pass.removed' })
    expect(told).toHaveLength(20)
    expect([await call('POST', 'x', other.id), await call('DELETE', 'x', other.id)]).toEqual([201, 200])
  })
})
