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
      response.setHeader('date', api.now.toUTCString())
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
    return { workspace, projectId, rig, make, ledger, made: await make(passes) }
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
      // Both scans are recorded, but the response is lost, so only the server knows. The next runner must not lose one.
      network = () => 'down'
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

  /** A hall with one door that scans entries, and has the list. */
  async function hallOf(zone: { capacity?: number; whenFull?: 'warn' | 'deny' }, passes: number) {
    const { workspace, rig, made, ledger, projectId } = await place(passes)
    const body = { projectId, name: 'Hall', ...zone }
    const { id: zoneId } = await workspace.ok(contract.zones.create, { body })
    const open = async (direction: 'in' | 'out' = 'in') => {
      const runner = await rig.open()
      await hasList(runner, passes)
      await runner.setMovement({ zoneId, direction })
      await eventually(async () => expect((await runner.state()).zone).toMatchObject({ name: 'Hall' }))
      return runner
    }
    const turn = (runner: Runner, direction: 'in' | 'out') => runner.setMovement({ zoneId, direction })
    const inside = async () => (await workspace.ok(contract.zones.get, { params: { id: zoneId } })).inside
    const movements = async (passId: string) => {
      const { items } = await workspace.ok(contract.scans.list, { query: { passId } })
      return items.toReversed().map(({ result, direction, metadata }) => [result, direction, metadata.conflict ?? null])
    }
    return { workspace, rig, made, ledger, zoneId, open, turn, inside, movements }
  }

  test.skipIf(skipped)(
    'lets a pass in, out, and in again offline, and reports each scan with its direction after a kill',
    async () => {
      const { made, open, rig, turn, inside, movements, zoneId } = await hallOf({}, 2)
      const [pass, other] = made
      const first = await open()
      expect(await first.scan(other!.code)).toMatchObject({ result: 'accepted', zone: { inside: 1 }, direction: 'in' })
      await goOffline(first)
      expect(await first.scan(pass!.code)).toMatchObject({ result: 'accepted', zone: { inside: 2 } })
      await turn(first, 'out')
      // An entry that the server decided counts as well.
      expect(await first.scan(other!.code)).toMatchObject({ result: 'accepted', direction: 'out', verified: 'offline' })
      expect(await first.scan(pass!.code)).toMatchObject({ result: 'accepted', zone: { inside: 0 } })
      await turn(first, 'in')
      const again = await first.scan(pass!.code)
      expect(again).toMatchObject({ result: 'accepted', direction: 'in', zone: { inside: 1 } })
      await eventually(async () => expect((await first.state()).zone).toMatchObject({ inside: 1 }))
      await first.kill()
      const second = await rig.open()
      await turn(second, 'out')
      expect(await second.scan(other!.code)).toMatchObject({ result: 'denied', reasonCode: 'not_valid_context' })
      await eventually(async () => expect((await second.state()).pending).toBe(5))
      expect(await second.state()).toMatchObject({ door: { movement: { zoneId, direction: 'out' } } })
      const uploaded = loseResponse('/v1/scans/offline')
      await second.retry()
      await uploaded
      network = () => 'down'
      await second.kill()
      const third = await rig.open()
      await upload(third)
      expect(await inside()).toBe(1)
      expect(await movements(pass!.id)).toEqual([
        ['accepted', 'in', null],
        ['accepted', 'out', null],
        ['accepted', 'in', null],
      ])
      expect((await movements(other!.id)).at(-1)).toEqual(['denied', 'out', null])
      expect((await third.state()).conflicts).toEqual([])
      await third.kill()
    },
  )

  test.skipIf(skipped)(
    'denies entry into a full zone offline, respects a reset, and dates movements by the server',
    async () => {
      const { workspace, made, open, turn, inside, movements, zoneId } = await hallOf(
        { capacity: 2, whenFull: 'deny' },
        4,
      )
      const [one, two, three, four] = made
      const first = await open()
      await first.scan(one!.code)
      await goOffline(first)
      await first.setClock(-20 * MINUTE_MS)
      expect(await first.scan(two!.code)).toMatchObject({ result: 'accepted', zone: { inside: 2, capacity: 2 } })
      expect(await first.scan(three!.code)).toMatchObject({ reasonCode: 'quota_exhausted', isZoneFull: true })
      await turn(first, 'out')
      const left = await first.scan(one!.code)
      expect(left).toMatchObject({ result: 'accepted', zone: { inside: 1 } })
      expect(await first.undo(left)).toMatchObject({ result: 'reversal', isPending: true })
      await eventually(async () => expect((await first.state()).zone).toMatchObject({ inside: 2 }))
      await upload(first)
      expect(await inside()).toBe(2)
      expect((await movements(two!.id)).map(([result]) => result)).toEqual(['accepted'])
      await workspace.ok(contract.zones.reset, { params: { id: zoneId }, body: { reason: 'End of day 1' } })
      await eventually(async () => expect((await first.state()).zone).toMatchObject({ inside: 0 }))
      await goOffline(first)
      // The list still has the entries from before the reset.
      expect(await first.scan(two!.code)).toMatchObject({ reasonCode: 'not_valid_context', verified: 'offline' })
      await turn(first, 'in')
      expect(await first.scan(four!.code)).toMatchObject({ result: 'accepted', zone: { inside: 1 } })
      await upload(first)
      expect(await inside()).toBe(1)
      await first.kill()
    },
  )

  test.skipIf(skipped)('counts people without a scan offline, once, and takes the last one back', async () => {
    const { made, open, rig, turn, inside } = await hallOf({}, 2)
    const first = await open()
    for (const { code } of made) await first.scan(code)
    await goOffline(first)
    expect(await first.adjust(-1)).toMatchObject({ delta: -1 })
    const second = await first.adjust(-1)
    await eventually(async () => expect((await first.state()).zone).toMatchObject({ inside: 0 }))
    expect(await first.undoAdjustment(second!)).toBe(true)
    expect(await first.undoAdjustment(second!)).toBe(true)
    await eventually(async () => expect(await first.state()).toMatchObject({ pending: 3, zone: { inside: 1 } }))
    const uploaded = new Promise<void>((resolve) => {
      onDeaf = resolve
      network = ({ url }) => (/adjust/.test(url!) ? 'deaf' : 'up')
    })
    await first.retry()
    await uploaded
    await first.kill()
    network = () => 'up'
    const next = await rig.open()
    await turn(next, 'in')
    await upload(next)
    expect(await inside()).toBe(1)
    await eventually(async () => expect((await next.state()).zone).toMatchObject({ inside: 1 }))
    await next.kill()
  })
})
