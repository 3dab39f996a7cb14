import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { toNodeHandler } from 'h3/node'
import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { scannablePass } from '../../server/api/scans/scan-support.ts'
import { makeProject } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { skipReason } from '../support/browser.ts'
import { serveDoor } from './door-server.ts'
import { type CreateRig, createProcesses, createTabs, type Runner } from './stores.ts'

/** The promises of a door (decisions/0009), held on each store that its engine runs on. */
const stores = [
  ['files', createProcesses, undefined],
  ['IndexedDB', createTabs, skipReason],
] as const

const MINUTE_MS = 60_000
/** Longer than doors of a project share a list. */
const SHARED_MS = MINUTE_MS
/** Allows for the precision of a `Date` header, which is a second, and for delays on a busy machine. */
const PRECISION_MS = 20_000

describe.each(stores)('a door on %s', (_, createRigs, skipped) => {
  const api = useApi('sqlite')
  const cleanUp = cleanUpAfterAll()
  let createRig: CreateRig
  /** The fate of a request: it arrives, it does not arrive, or its response does not arrive. */
  let network: (request: IncomingMessage) => 'up' | 'down' | 'deaf' = () => 'up'
  let requested: string[] = []
  /** The time by which the server is ahead. The clock of a browser cannot be changed. */
  let aheadMs = 0
  const serverTime = () => new Date(Date.now() + aheadMs)
  /** Called when a request arrives whose response is withheld. */
  let onDeaf: () => void = () => undefined

  beforeAll(async () => {
    if (skipped) return
    const handle = toNodeHandler(api.app) as RequestListener
    const front = (request: IncomingMessage, response: ServerResponse) => {
      api.now = serverTime()
      const fate = network(request)
      requested.push(request.url!)
      if (fate === 'down') return request.destroy()
      if (fate === 'deaf') {
        // Keep the connection open, because a door uses its list as soon as a connection breaks.
        response.write = () => true
        response.end = () => {
          onDeaf()
          return response
        }
      }
      handle(request, response)
    }
    const page = await serveDoor('./bare-door.ts', front, cleanUp)
    createRig = await createRigs(createRigs === createTabs ? page : new URL(page).origin, cleanUp)
  })

  async function place(passes: number) {
    network = () => 'up'
    api.now = serverTime()
    const workspace = await api.workspace()
    const { id: projectId } = await makeProject(workspace)
    const make = async (n: number) => {
      const made = []
      for (let i = 0; i < n; i += 1) made.push(await scannablePass(workspace, { projectId }))
      return made
    }
    const rig = await createRig({ workspace, projectId })
    const ledger = async (passId: string) => {
      const { items } = await workspace.ok(contract.scans.list, { query: { passId } })
      return items.toReversed().map(({ result, verified }) => [result, verified])
    }
    return { workspace, rig, make, ledger, made: await make(passes) }
  }

  async function hasList(runner: Runner, size: number): Promise<void> {
    await eventually(async () => {
      expect(await runner.state()).toMatchObject({ connection: 'online', list: { size }, loading: null })
    })
  }

  /** Cuts the network, and waits until the engine detects it. */
  async function goOffline(runner: Runner): Promise<void> {
    network = () => 'down'
    await runner.retry()
    await eventually(async () => expect((await runner.state()).connection).toBe('offline'))
  }

  async function upload(runner: Runner): Promise<void> {
    network = () => 'up'
    await runner.retry()
    await eventually(async () => expect(await runner.state()).toMatchObject({ connection: 'online', pending: 0 }))
  }

  /** Resolves when a request to a path has arrived, whose response is lost. */
  function loseResponse(path: string): Promise<void> {
    return new Promise((resolve) => {
      onDeaf = resolve
      network = ({ url, method }) => (url === path && method === 'POST' ? 'deaf' : 'up')
    })
  }

  test.skipIf(skipped)(
    'uploads a decision once that a killed runner left, and rejects its pass before that',
    async () => {
      const { rig, made, ledger } = await place(1)
      const [pass] = made
      const first = await rig.open()
      await hasList(first, 1)
      await goOffline(first)
      expect(await first.scan(pass!.code)).toMatchObject({ result: 'accepted', verified: 'offline', isPending: true })
      await first.kill()
      const second = await rig.open()
      expect((await second.state()).pending).toBe(1)
      expect(await second.scan(pass!.code)).toMatchObject({ result: 'duplicate', verified: 'offline' })
      const uploaded = loseResponse('/v1/scans/offline')
      await second.retry()
      await uploaded
      // Both scans are recorded, but the response is lost, so only the server knows.
      await second.kill()
      const third = await rig.open()
      await upload(third)
      expect((await third.state()).conflicts).toEqual([])
      expect(await ledger(pass!.id)).toEqual([
        ['accepted', 'offline'],
        ['denied', 'offline'],
      ])
      await third.kill()
    },
  )

  test.skipIf(skipped)('repeats an attempt under its name if it was killed before the response', async () => {
    const { rig, made, ledger } = await place(1)
    const [pass] = made
    const first = await rig.open()
    await hasList(first, 1)
    await first.stopTimers()
    const evaluated = loseResponse('/v1/scans')
    void first.scan(pass!.code).catch(() => undefined)
    await evaluated
    network = () => 'down'
    await first.kill()
    const second = await rig.open()
    await upload(second)
    expect(await second.scan(pass!.code)).toMatchObject({ result: 'accepted' })
    await upload(second)
    expect(await ledger(pass!.id)).toHaveLength(1)
    await second.kill()
  })

  test.skipIf(skipped)('shares decisions and uploads between two runners of one store', async () => {
    const { rig, made, ledger } = await place(2)
    const [one, two] = made
    const [north, south] = [await rig.open(), await rig.open()]
    for (const runner of [north, south]) await hasList(runner, 2)
    network = () => 'down'
    for (const runner of [north, south]) await goOffline(runner)
    expect(await north.scan(one!.code)).toMatchObject({ result: 'accepted', verified: 'offline' })
    expect(await south.scan(one!.code)).toMatchObject({ result: 'duplicate', verified: 'offline' })
    expect(await south.scan(two!.code)).toMatchObject({ result: 'accepted', verified: 'offline' })
    await north.kill()
    await upload(south)
    expect(await ledger(one!.id)).toEqual([
      ['accepted', 'offline'],
      ['denied', 'offline'],
    ])
    expect(await ledger(two!.id)).toEqual([['accepted', 'offline']])
    await south.kill()
  })

  test.skipIf(skipped)(
    'accepts exactly one of two concurrent scans of a pass at two runners of one store',
    async () => {
      const { rig, made, ledger } = await place(2)
      const [one, two] = made
      const runners = [await rig.open(), await rig.open()]
      for (const runner of runners) await hasList(runner, 2)
      const scanAtBoth = async (code: string) => {
        const decisions = await Promise.all(runners.map((runner) => runner.scan(code)))
        return decisions.map(({ result }) => result).toSorted()
      }
      expect(await scanAtBoth(one!.code)).toEqual(['accepted', 'duplicate'])
      network = () => 'down'
      for (const runner of runners) await goOffline(runner)
      expect(await scanAtBoth(two!.code)).toEqual(['accepted', 'duplicate'])
      requested = []
      network = () => 'up'
      await Promise.all(runners.map((runner) => runner.retry()))
      for (const runner of runners) await upload(runner)
      expect(requested.filter((url) => url === '/v1/scans/offline')).toHaveLength(1)
      for (const { id } of made) {
        expect((await ledger(id)).map(([result]) => result).toSorted()).toEqual(['accepted', 'denied'])
      }
      for (const runner of runners) await runner.kill()
    },
  )

  test.skipIf(skipped)('uploads a reversal that was made offline, after its scan, also after a restart', async () => {
    const { rig, made, ledger } = await place(1)
    const [pass] = made
    const first = await rig.open()
    await hasList(first, 1)
    await goOffline(first)
    const scanned = await first.scan(pass!.code)
    expect(await first.undo(scanned)).toMatchObject({ result: 'reversal', isPending: true })
    await first.kill()
    const second = await rig.open()
    expect((await second.state()).pending).toBe(2)
    await upload(second)
    expect((await ledger(pass!.id)).map(([result]) => result)).toEqual(['accepted', 'reversal'])
    await goOffline(second)
    expect(await second.scan(pass!.code)).toMatchObject({ result: 'accepted', verified: 'offline' })
    await second.kill()
  })

  test.skipIf(skipped)(
    'dates scans by the server if the clock is wrong, set back, set forward, and after a restart',
    async () => {
      const { rig, made } = await place(4)
      const codes = made.map(({ code }) => code)
      const errorOf = ({ scannedAt }: { scannedAt: string }) => Math.abs(Date.parse(scannedAt) - Date.now())
      const skewMs = 30 * MINUTE_MS
      const first = await rig.open({ skewMs })
      await hasList(first, 4)
      await goOffline(first)
      expect(errorOf(await first.scan(codes[0]!))).toBeLessThan(PRECISION_MS)
      await first.setClock(skewMs - 20 * MINUTE_MS)
      expect(errorOf(await first.scan(codes[1]!))).toBeLessThan(PRECISION_MS)
      await first.kill()
      const second = await rig.open({ skewMs })
      expect(errorOf(await second.scan(codes[2]!))).toBeLessThan(PRECISION_MS)
      await second.setClock(skewMs + 120 * MINUTE_MS)
      await upload(second)
      await goOffline(second)
      expect(errorOf(await second.scan(codes[3]!))).toBeLessThan(PRECISION_MS)
      await second.kill()
    },
  )

  test.skipIf(skipped)('resumes interrupted changes from the same list, and replaces an expired list', async () => {
    const { workspace, rig, make } = await place(1)
    const first = await rig.open()
    await hasList(first, 1)
    await first.kill()
    const added = await make(2)
    aheadMs += SHARED_MS
    // The second of two pages does not arrive.
    network = (request) => {
      request.url = request.url!.replace(/limit=1000/, 'limit=1')
      return /snapshot.*cursor=/.test(request.url) ? 'down' : 'up'
    }
    requested = []
    const second = await rig.open()
    await eventually(() => expect(requested.some((url) => /snapshot.*cursor=/.test(url))).toBe(true))
    await second.kill()
    network = () => 'up'
    const third = await rig.open()
    await hasList(third, 3)
    await goOffline(third)
    for (const { code } of added) expect(await third.scan(code)).toMatchObject({ result: 'accepted' })
    await third.kill()
    const before = (await workspace.ok(contract.templates.list, { query: {} })).items
    for (const { id } of before) {
      await workspace.ok(contract.templates.update, { params: { id }, body: { name: `Renamed ${id}` } })
    }
    aheadMs += SHARED_MS
    network = () => 'up'
    requested = []
    const fourth = await rig.open()
    await eventually(() => {
      expect(requested.some((url) => url.includes('snapshot') && !url.includes('since'))).toBe(true)
    })
    await hasList(fourth, 3)
    await goOffline(fourth)
    for (const { code } of added) expect(await fourth.scan(code)).toMatchObject({ result: 'duplicate' })
    await fourth.kill()
  })
})
