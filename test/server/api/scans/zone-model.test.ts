import { beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../../../bench/support/random.ts'
import { projects } from '../../../../src/core/contract/projects.ts'
import { type OfflineScan, type Snapshot, scanner } from '../../../../src/core/contract/scans/scanner.ts'
import { scans } from '../../../../src/core/contract/scans/scans.ts'
import { zones } from '../../../../src/core/contract/scans/zones.ts'
import type { ScanResponse } from '../../../../src/core/contract/schemas/scan-shapes.ts'
import type { Direction } from '../../../../src/core/rules/zones/presence.ts'
import { openDatabase } from '../../../../src/storage/db/database.ts'
import { createStore } from '../../../../src/storage/store.ts'
import { insertTemplate, newPass } from '../../../storage/fixtures.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { cleanUpAfterAll, dialects } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import { ZoneModel } from './zone-reference.ts'

const STEPS = times(150, 10_000)
const PASSES = 25
const MINUTE = 60_000

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const cleanUp = cleanUpAfterAll()
  let workspace: TestWorkspace
  let projectId: string
  /** The apps of two servers on one database. */
  let servers: (typeof api.app)[]

  beforeAll(async () => {
    api.now = new Date('2026-07-02T12:00:00Z')
    workspace = await api.workspace()
    projectId = (await workspace.ok(projects.create, { body: { name: 'Fair' } })).id
    const database = openDatabase(api.databaseUrl)
    cleanUp(() => database.close())
    servers = [api.app, api.createApp({ ...api.services, store: createStore(database) })]
  })

  async function makePasses(count: number): Promise<string[]> {
    const { store } = api.services
    const version = await insertTemplate(store, workspace.id)
    const made = Array.from({ length: count }, () => newPass(version, { redemption: { maxUses: 100_000 }, projectId }))
    await store.transaction(async (tx) => {
      await tx.passes.insert(workspace.id, made, api.now)
      for (const { id } of made) await tx.passes.setIssued(workspace.id, [id], api.now)
    })
    return made.map(({ id }) => id)
  }

  async function send(n: number, path: string, body: object): Promise<Response> {
    const headers = { authorization: `Bearer ${workspace.token}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return servers[n % 2]!.fetch(new Request(`https://passes.example${path}`, request))
  }

  const title = 'the number inside, each presence, and the curve equal those of an independent model, in any order'
  test(title, { timeout: 120_000 + 100 * STEPS }, async () => {
    const { next: random } = createRandom(process.env.PASSES_ZONE_SEED ?? `zones on ${dialect}`)
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!
    const passIds = await makePasses(PASSES)
    const body = { projectId, name: 'Hall', capacity: 18, whenFull: 'deny' as const }
    const { id: zoneId } = await workspace.ok(zones.create, { body })
    const model = new ZoneModel(18)
    const began = api.now
    const waiting: OfflineScan[][] = [[], []]
    const accepted: string[] = []
    const params = { id: zoneId }

    const online = async () => {
      const [passId, direction] = [pick(passIds), pick<Direction>(['in', 'out'])]
      const { result, scan, zone } = await workspace.ok(scans.create, { body: { passId, zoneId, direction } })
      expect(result === 'accepted').toBe(model.accepts(passId, direction, api.now))
      if (result === 'accepted') accepted.push(model.move(scan.id, passId, direction, api.now))
      expect(zone!.inside).toBe(model.inside())
    }
    const offline = () => {
      // The clock of a door can be wrong by minutes.
      const scannedAt = new Date(api.now.getTime() + Math.floor((random() - 0.5) * 6 * MINUTE)).toISOString()
      const [result, reason] = random() < 0.8 ? (['accepted', 'valid'] as const) : (['denied', 'already_used'] as const)
      const [passId, direction] = [pick(passIds), pick<Direction>(['in', 'out'])]
      const externalRef = `offline-${random()}`
      pick(waiting).push({ externalRef, passId, scannedAt, result, reason, zoneId, direction })
    }
    const upload = async () => {
      const door = pick(waiting)
      const some = door.splice(0, Math.ceil(random() * Math.min(20, door.length))).sort(() => random() - 0.5)
      if (some.length === 0) return
      const { results } = await workspace.ok(scanner.report, { body: { scans: some } })
      // The server records the scans of a report in the order of their times.
      const inOrder = results
        .map(({ scan }, n) => ({ scan, sent: some[n]! }))
        .sort((a, b) => (a.scan.id < b.scan.id ? -1 : 1))
      for (const { scan, sent } of inOrder) {
        if (sent.result === 'denied') continue
        accepted.push(model.move(scan.id, sent.passId!, sent.direction!, new Date(scan.scannedAt)))
      }
      // A report that is sent again changes nothing.
      if (random() < 0.3) await workspace.ok(scanner.report, { body: { scans: some } })
    }
    const reverse = async () => {
      const [scanId] = accepted.splice(Math.floor(random() * accepted.length), 1)
      if (scanId === undefined) return
      await workspace.ok(scans.reverse, { params: { id: scanId } })
      model.reverse(scanId)
    }
    const adjust = async () => {
      const delta = Math.ceil(random() * 5) * (random() < 0.5 ? -1 : 1)
      const answer = await workspace.call(zones.adjust, {
        params,
        body: { delta, reason: 'x', externalRef: `${random()}` },
      })
      const isPossible = delta > 0 || model.inside() + delta >= 0
      expect(answer.status).toBe(isPossible ? 200 : 409)
      if (isPossible) model.adjust(delta, api.now)
    }
    const reset = async () => {
      await workspace.ok(zones.reset, { params, body: { reason: 'x' } })
      model.reset(api.now)
    }

    for (let step = 0; step < STEPS; step += 1) {
      // Some steps happen in the same millisecond.
      if (random() < 0.8) api.advance(Math.floor(random() * 90_000) / 1000)
      api.app = pick(servers)
      const dice = random()
      if (dice < 0.45) await online()
      else if (dice < 0.7) offline()
      else if (dice < 0.82) await upload()
      else if (dice < 0.92) await reverse()
      else if (dice < 0.98) await adjust()
      else await reset()
      expect((await workspace.ok(zones.get, { params })).inside, `after step ${step}`).toBe(model.inside())
    }

    const list = await workspace.ok(scanner.snapshot, { query: { projectId, limit: 1000 } })
    const sides = new Map(list.items.map((item) => [item.passId, sideOf(item, zoneId)]))
    expect(passIds.map((id) => sides.get(id))).toEqual(passIds.map((id) => model.lastDirection(id)))

    const from = new Date(Math.max(began.getTime() + 10_000, api.now.getTime() - 600 * MINUTE))
    const to = new Date(api.now.getTime() + 5 * MINUTE)
    const range = { from: from.toISOString(), to: to.toISOString(), by: 'minute' as const }
    const { items, peak, entries, exits } = await workspace.ok(zones.occupancy, { params, query: range })
    const ends = items.map(({ at }) => Math.min(Date.parse(at) + MINUTE, to.getTime()))
    expect(items.map(({ inside }) => inside)).toEqual(model.insideBefore(ends))
    expect({ peak, entries, exits }).toEqual(model.figures(from, to))
  })

  test('accepts exactly as many of 200 concurrent entries over two servers as a full zone has places', async () => {
    const passIds = await makePasses(200)
    const body = { projectId, name: 'Club', capacity: 30, whenFull: 'deny' as const }
    const { id: zoneId } = await workspace.ok(zones.create, { body })
    await workspace.ok(zones.adjust, { params: { id: zoneId }, body: { delta: 20, reason: 'x', externalRef: 'x' } })
    const sent = passIds.map((passId, n) => send(n, '/v1/scans', { passId, zoneId }))
    const results: ScanResponse[] = await Promise.all(sent.map(async (response) => (await response).json()))
    const accepted = results.filter(({ result }) => result === 'accepted')
    expect(accepted).toHaveLength(10)
    expect(accepted.map(({ zone }) => zone!.inside).sort()).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30])
    const denied = results.filter(({ result }) => result !== 'accepted')
    for (const { reasonCode, message } of denied)
      expect([reasonCode, message]).toEqual(['quota_exhausted', 'Zone full'])
    expect((await workspace.ok(zones.get, { params: { id: zoneId } })).inside).toBe(30)
    const events = await workspace.events(zoneId)
    expect(events.map(({ data }) => [data.percent, data.inside])).toEqual([
      [80, 24],
      [100, 30],
    ])
  })

  test('records passes that two servers report in opposite orders of their zones', async () => {
    const named = ['Hall', 'Gallery'].map((name) => workspace.ok(zones.create, { body: { projectId, name } }))
    const [hall, gallery] = (await Promise.all(named)).map(({ id }) => id)
    const scannedAt = [1, 2].map((minutes) => new Date(api.now.getTime() + minutes * MINUTE).toISOString())
    const decided = { result: 'accepted', reason: 'valid', direction: 'in' }
    const reports = (await makePasses(100)).map((passId, n) => {
      const order = n % 2 === 0 ? [hall, gallery] : [gallery, hall]
      const made = order.map((zoneId, step) => ({ ...decided, passId, zoneId, scannedAt: scannedAt[step] }))
      return send(n, '/v1/scans/offline', {
        scans: made.map((scan) => ({ ...scan, externalRef: crypto.randomUUID() })),
      })
    })
    const statuses = (await Promise.all(reports)).map(({ status }) => status)
    expect(statuses).toEqual(statuses.map(() => 200))
    for (const id of [hall, gallery]) {
      expect(await workspace.ok(zones.get, { params: { id: id! } })).toMatchObject({ inside: 100 })
    }
  })
})

function sideOf({ presence = [] }: Snapshot['items'][number], zoneId: string): Direction | null {
  return presence.find((one) => one.zoneId === zoneId)?.direction ?? null
}
