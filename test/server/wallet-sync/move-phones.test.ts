import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unzip } from '../../../src/cli/device/apple-package.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { noteAddress } from '../../../src/server/inbound/apple-service.ts'
import { checkWork } from '../../../src/server/operator/doctor/work.ts'
import { cancelMove, checkTarget, findMove, parseMoveTarget, startMove } from '../../../src/server/operator/move-out.ts'
import { movePhones } from '../../../src/server/wallet-sync/repeat-pushes.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { issuedPass } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const URL_THERE = 'https://there.example/apple'

describe.each(dialects)('phones that move to another address, on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)

  async function heldPass(workspace: TestWorkspace, devices = 1) {
    const pass = await issuedPass(workspace)
    for (let n = 0; n < devices; n++) await phones.addApple(workspace.id, pass.id)
    await api.services.store.transaction((tx) => tx.heldPasses.settle(workspace.id, [pass.id]))
    return pass
  }
  const move = (workspace: TestWorkspace, passesASecond?: number, url = URL_THERE) =>
    startMove(api.services.store, workspace.id, { url, passesASecond, at: api.now })
  const find = (workspace: TestWorkspace) => findMove(api.services.store, workspace.id)
  const tick = async (seconds: number) => {
    api.advance(seconds)
    await movePhones(api.services)
    await api.runJobs()
  }
  const stored = (workspace: TestWorkspace, { id }: Pass) => api.services.store.passes.find(workspace.id, id)
  const passJson = async (workspace: TestWorkspace, pass: Pass) => {
    const file = await api.services.packages!.build((await stored(workspace, pass))!, api.now)
    return JSON.parse(unzip(file).get('pass.json')!.toString())
  }
  const fetchLatest = async (workspace: TestWorkspace, pass: Pass) => {
    const { walletVersion } = (await stored(workspace, pass))!
    await api.services.store.transaction((tx) =>
      tx.registrations.setFetched(workspace.id, pass.id, walletVersion, api.now),
    )
  }

  test('packages name the new server at once, and each phone is pushed once, at the pace', async () => {
    const workspace = await api.workspace()
    const passes = []
    for (let n = 0; n < 5; n++) passes.push(await heldPass(workspace, n === 0 ? 2 : 1))
    const [first] = passes as [Pass]
    await phones.addGoogle(workspace.id, first.id)
    const other = await api.workspace()
    const elsewhere = await heldPass(other)
    const unheld = await issuedPass(workspace)
    const before = await passJson(workspace, first)
    await move(workspace, 2)
    expect(await find(workspace)).toMatchObject({ passesASecond: 2 })
    // Starting the move to the same address again changes only the pace, and only if one is given.
    await move(workspace)
    expect(await find(workspace)).toMatchObject({ passesASecond: 2 })
    expect(await passJson(workspace, first)).toEqual({ ...before, webServiceURL: URL_THERE })
    expect((await passJson(workspace, unheld)).webServiceURL).toBe(URL_THERE)
    expect(await find(workspace)).toMatchObject({ toldAt: null, progress: { passes: 0, waiting: 6 } })
    const googleBefore = await api.services.store.googleObjects.list(workspace.id, [first.id])

    const told = []
    for (let n = 0; n < 4; n++) {
      await tick(1)
      told.push((await find(workspace))!.progress.passes)
    }
    // The full pace applies from the first second.
    expect(told).toEqual([4, 5, 5, 5])
    const silent = { moved: 0, silent: 6, refused: 0, waiting: 0 }
    expect(await find(workspace)).toMatchObject({ toldAt: expect.any(Date), progress: silent })
    const jobs = api.database.writer('jobs').where({ workspace_id: workspace.id })
    expect(await jobs).toEqual([])
    // Google's object does not contain the address, so it does not change.
    const [object] = await api.services.store.googleObjects.list(workspace.id, [first.id])
    expect(object!.sentAt).toEqual(googleBefore[0]!.sentAt)
    expect(object!.sentVersion).toBe((await stored(workspace, first))!.walletVersion)
    const pass = await workspace.ok(contract.passes.get, { params: { id: first.id } })
    expect(pass.revision).toBe(first.revision)

    await fetchLatest(workspace, first)
    expect((await find(workspace))!.progress).toMatchObject({ moved: 1, silent: 5 })
    expect(await stored(other, elsewhere)).toMatchObject({ walletVersion: 1, webServiceUrl: null })
    expect((await passJson(other, elsewhere)).webServiceURL).toBe(before.webServiceURL)
  })

  test('a phone that fetches before its push has moved, too', async () => {
    const workspace = await api.workspace()
    const [first, second] = [await heldPass(workspace), await heldPass(workspace)]
    await fetchLatest(workspace, first)
    await move(workspace, 1)
    expect((await find(workspace))!.progress).toMatchObject({ moved: 0, waiting: 2 })
    api.advance(1)
    await fetchLatest(workspace, second)
    expect((await find(workspace))!.progress).toMatchObject({ moved: 1, waiting: 1 })
    await tick(10)
    expect((await find(workspace))!.progress).toMatchObject({ passes: 2, moved: 1, silent: 1 })
  })

  test('checks the address with the newest held pass of each identity and template', async () => {
    const workspace = await api.workspace()
    const { store } = api.services
    const [older, newer] = [await heldPass(workspace), await heldPass(workspace)]
    const shared = { isSandbox: true, teamIdentifier: 'BRAND00001', expiresAt: null, issuerId: null }
    const type = `pass.test.brand-${workspace.id}`
    const brand = { ...shared, platform: 'apple' as const, name: `brand-${workspace.id}`, passTypeIdentifier: type }
    const identity = await store.transaction((tx) => tx.identities.insert(brand, () => 'none', api.now))
    const ofBrand = await heldPass(workspace)
    await api.database.writer('passes').where({ id: ofBrand.id }).update({ apple_identity_id: identity!.id })
    await api.database.writer('passes').where({ id: newer.id }).update({ template_id: older.templateId })
    const asked: (string | undefined)[] = []
    const known = new Set([older.id, newer.id])
    const there = createServer(({ url }, response) => {
      const [, passType, serial] = /^\/v1\/passes\/([^/]+)\/(.+)$/.exec(url!)!
      asked.push(`${passType} ${serial}`)
      response.writeHead(known.has(serial!) ? 200 : 401).end()
    })
    await new Promise<void>((resolve) => there.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void there.close())
    const url = `http://127.0.0.1:${(there.address() as AddressInfo).port}`
    const check = () => checkTarget(store, workspace.id, { url, passTypeIdentifier: 'pass.test.own' })
    await expect(check()).rejects.toThrow(`responds with 401 for the pass ${ofBrand.id} (${type})`)
    known.add(ofBrand.id)
    asked.length = 0
    expect(await check()).toBe(true)
    expect(asked.toSorted()).toEqual([`pass.test.own ${newer.id}`, `${type} ${ofBrand.id}`].toSorted())
  })

  test('rejects the only address that the server ever had, and accepts a new one', async () => {
    const workspace = await api.workspace()
    const { store } = api.services
    const check = (url: string) => checkTarget(store, workspace.id, { url, passTypeIdentifier: undefined })
    // The address is unknown before the first start of a server.
    expect(await check('https://own.example/apple')).toBe(false)
    for (let starts = 0; starts < 2; starts++) await noteAddress(store, 'https://OWN.example:443')
    await expect(check('https://own.example/apple')).rejects.toThrow('already the address of this server: its packages')
    expect(await check('https://own.example/other')).toBe(false)
    await move(workspace)
    await expect(check('https://own.example/apple')).rejects.toThrow('passes move-out --cancel')
    await move(workspace, 1, 'https://own.example/apple')
    expect(await check('https://own.example/apple')).toBe(false)
    await cancelMove(store, workspace.id, api.now)
    // Phones know the previous address.
    await noteAddress(store, 'https://new.example')
    expect(await check('https://new.example/apple')).toBe(false)
  })

  test('a phone registered behind the current position is pushed in the next round, and none twice', async () => {
    const workspace = await api.workspace()
    const early = await issuedPass(workspace)
    const pass = await heldPass(workspace)
    await move(workspace, 100)
    await tick(1)
    const { walletVersion } = (await stored(workspace, pass))!
    await phones.addApple(workspace.id, early.id)
    await api.services.store.transaction((tx) => tx.heldPasses.settle(workspace.id, [early.id]))
    await tick(30)
    expect((await find(workspace))!.progress).toMatchObject({ passes: 1, waiting: 1, silent: 1 })
    await tick(31)
    expect((await find(workspace))!.progress).toMatchObject({ passes: 2, waiting: 0, silent: 2 })
    await tick(61)
    expect((await stored(workspace, pass))!.walletVersion).toBe(walletVersion)
  })

  test('the same address continues at another pace, another starts over, and a cancel restores this server', async () => {
    const workspace = await api.workspace()
    const passes = [await heldPass(workspace), await heldPass(workspace), await heldPass(workspace)]
    const [first] = passes as [Pass]
    const { webServiceURL } = await passJson(workspace, first)
    await move(workspace, 1)
    await movePhones(api.services)
    expect((await find(workspace))!.progress.passes).toBe(1)
    await move(workspace, 10)
    await tick(1)
    expect(await find(workspace)).toMatchObject({ passesASecond: 10, progress: { passes: 3 } })
    const checks = await checkWork(api.services.store, api.now)
    const { name: called } = (await api.services.store.workspaces.findByNameOrId(workspace.id))!
    const shown = `phones of ${called} have been moving to ${URL_THERE} since `
    const counts = '0 have moved, 3 got a push but have not moved yet, 0 cannot get a push, 0 wait for a push'
    const message = checks.find(({ name }) => name === 'Moves')!.message
    expect(message).toContain(shown)
    expect(message).toContain(counts)
    const counted = await api.services.metrics.movedPasses.get()
    expect(counted.values[0]!.value).toBeGreaterThanOrEqual(3)
    await fetchLatest(workspace, first)
    expect((await find(workspace))!.progress.moved).toBe(1)

    await move(workspace, 10, 'https://elsewhere.example')
    expect((await find(workspace))!.progress).toMatchObject({ passes: 0, moved: 0, waiting: 3 })
    await tick(1)
    expect((await find(workspace))!.progress).toMatchObject({ passes: 3, moved: 0, silent: 3 })
    await cancelMove(api.services.store, workspace.id, api.now)
    expect((await passJson(workspace, first)).webServiceURL).toBe(webServiceURL)
    expect(await find(workspace)).toBeUndefined()
    await expect(cancelMove(api.services.store, workspace.id, api.now)).rejects.toThrow('No move is in progress')
    const actions = await api.database
      .writer('audit_entries')
      .where({ workspace_id: workspace.id })
      .orderBy('id')
      .pluck('action')
    expect(actions.filter((action: string) => action.includes('.move'))).toEqual([
      'workspace.move-out',
      'workspace.move-out',
      'workspace.move-back',
    ])
  })
})

test.each([
  ['https://a.example/apple/', 'https://a.example/apple'],
  ['https://a.example', 'https://a.example'],
  ['http://127.0.0.1:3000/apple', 'http://127.0.0.1:3000/apple'],
  ['http://a.example/apple', undefined],
  ['http://127.evil.example', undefined],
  ['https://a.example/apple/v1', undefined],
  ['https://me:secret@a.example', undefined],
  ['https://a.example/?a=b', undefined],
  ['https://a.example/#a', undefined],
  ['a.example', undefined],
  ['ftp://a.example', undefined],
])('phones can be sent to %s: %s', (text, url) => {
  const target = parseMoveTarget(text)
  expect(target).toEqual(url === undefined ? { problem: expect.any(String) } : { url })
})
