import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { createDoorList } from '../../../../bench/support/door-list.ts'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { SnapshotItem } from '../../../../src/core/contract/scans/scanner.ts'
import { newId } from '../../../../src/core/ids.ts'
import { sweep } from '../../../../src/server/background/maintenance.ts'
import { erasePass } from '../../../../src/server/operator/erase-pass.ts'
import { insertRows } from '../../../../src/storage/db/bulk-rows.ts'
import { SnapshotEntries } from '../../../../src/storage/scans/snapshot-entries.ts'
import { TestWorkspace, targetOf, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { times } from '../../../support/long.ts'
import { definition, issuedPass, makePass, makeProject, publishedTemplate, publishVersion } from '../../fixtures.ts'

const { snapshot } = contract.scanner

/** The maximum age of a snapshot that doors of a project share, in seconds. */
const SHARED_SECONDS = 20

/** A variable selects the scanned payload and the fields that a door shows. */
const content = (maxUses: number) =>
  definition({
    variables: [
      { name: 'code', label: 'Code' },
      { name: 'until', label: 'Until', default: '2099-01-01T00:00:00Z' },
    ],
    expiresAt: '{{until}}',
    design: { ...definition().design, fields: {}, barcode: { format: 'qr', message: '{{code}}' } },
    redemption: { maxUses },
    door: { show: ['code'] },
  })

/** A change of the n-th pass, or of its project. */
type Step = { what: (typeof whats)[number]; n: number }
const whats = [
  'make',
  'make elsewhere',
  'issue',
  'rename',
  'recode',
  'rotate',
  'upgrade',
  'group',
  'expire soon',
  'void',
  'scan',
  'reverse',
  'report',
  'erase',
  'wait',
  'sync',
] as const

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  type Query = { projectId?: string; since?: string; limit?: number; cursor?: string }

  async function pagesOf(workspace: TestWorkspace, query: Query, between = async (): Promise<unknown> => undefined) {
    const pages = [await workspace.ok(snapshot, { query })]
    while (pages.at(-1)!.nextCursor !== null) {
      await between()
      pages.push(await workspace.ok(snapshot, { query: { ...query, cursor: pages.at(-1)!.nextCursor! } }))
    }
    return pages
  }

  /** A device that loads the list once, and then only its changes. */
  async function device(workspace: TestWorkspace, query: Query) {
    const first = await pagesOf(workspace, query)
    const list = createDoorList(first.flatMap(({ items }) => items))
    let { id } = first[0]!
    return {
      list,
      get id() {
        return id
      },
      async sync(limit = 3, between?: () => Promise<unknown>) {
        const pages = await pagesOf(workspace, { ...query, since: id, limit }, between)
        for (const page of pages) list.merge(page)
        id = pages[0]!.id
        return pages
      },
      async expectWhole() {
        expect(sorted(list.items())).toEqual(await wholeOf(workspace, query))
      },
    }
  }

  async function wholeOf(workspace: TestWorkspace, query: Query) {
    return sorted((await pagesOf(workspace, query)).flatMap(({ items }) => items))
  }

  async function doorOf(owner: TestWorkspace, projectId: string) {
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const { code } = await owner.ok(contract.doors.invite, { body: { projectId, gate: 'North', expiresAt } })
    const { token } = await owner.ok(contract.doors.claim, { body: { code, name: 'phone' } })
    return new TestWorkspace(api, owner.id, token)
  }

  const erase = (workspace: TestWorkspace, passId: string) =>
    erasePass({ store: api.services.store, database: api.database }, workspace.id, passId, api.now)

  const changed = (pages: { items: SnapshotItem[] }[]) => pages.flatMap(({ items }) => items.map(({ label }) => label))

  test('the previous list plus the changes equals the list, after any events', async () => {
    const steps = fc.array(fc.record<Step>({ what: fc.constantFrom(...whats), n: fc.nat(40) }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (given, isOfProject) => {
        const world = await makeWorld()
        const kept = await device(world.workspace, isOfProject ? { projectId: world.projectId } : {})
        const door = await doorOf(world.workspace, world.projectId)
        const doors = [await device(door, {}), await device(door, {})]
        const syncInside = async ({ n }: Step) => {
          // Changes may happen between any two pages.
          const between = () => world.run({ what: whats[world.made() % whats.length]!, n: world.made() })
          await [kept, ...doors][n % 3]!.sync(2, between)
        }
        for (const step of given) await (step.what === 'sync' ? syncInside(step) : world.run(step))
        await kept.sync()
        await kept.expectWhole()
        // The age limit of shared snapshots has passed.
        api.advance(SHARED_SECONDS)
        for (const one of doors) {
          await one.sync()
          expect(sorted(one.list.items())).toEqual(await wholeOf(world.workspace, { projectId: world.projectId }))
        }
      }),
      { numRuns: times(4, 200) },
    )
  })

  async function makeWorld() {
    const workspace = await api.workspace()
    const projectId = (await makeProject(workspace)).id
    const template = await publishedTemplate(workspace, { definition: content(2), projectId })
    const other = await publishedTemplate(workspace, { definition: content(2) })
    const ids: string[] = []
    const scanIds: string[] = []
    let uses = 2
    let made = 0
    const make = async (templateId: string) => {
      made += 1
      ids.push((await makePass(workspace, templateId, { variables: { code: `code ${made}` } })).id)
    }
    for (let n = 0; n < 3; n += 1) await make(template.id)
    const steps: Record<Exclude<Step['what'], 'sync'>, (id: string) => Promise<unknown>> = {
      make: () => make(template.id),
      'make elsewhere': () => make(other.id),
      issue: () => api.runJobs(),
      rename: (id) => update(id, { label: `Ada ${made}` }),
      recode: (id) => update(id, { variables: { code: `changed ${made}` } }),
      rotate: (id) => workspace.call(contract.passes.rotateCode, { params: { id } }),
      async upgrade(id) {
        uses += 1
        await publishVersion(workspace, template.id, content(uses))
        await update(id, { templateVersion: 'latest' })
      },
      group: (id) => update(id, { groupKey: made % 3 === 0 ? null : `order ${made % 3}` }),
      'expire soon': (id) => update(id, { variables: { until: new Date(api.now.getTime() + 45_000).toISOString() } }),
      void: (id) => workspace.call(contract.passes.void, { params: { id }, body: {} }),
      async scan(passId) {
        const { scan, result } = await workspace.ok(contract.scans.create, { body: { passId } })
        if (result === 'accepted') scanIds.push(scan.id)
      },
      reverse: () =>
        workspace.call(contract.scans.reverse, { params: { id: scanIds.pop() ?? newId(api.now) }, body: {} }),
      report: (passId) =>
        workspace.ok(contract.scanner.report, {
          body: {
            scans: [
              {
                externalRef: newId(api.now),
                passId,
                scannedAt: api.now.toISOString(),
                result: 'accepted',
                reason: 'valid',
              },
            ],
          },
        }),
      erase: (id) => erase(workspace, id),
      wait: async () => api.advance(30),
    }
    const update = (id: string, body: object) => workspace.call(contract.passes.update, { params: { id }, body })
    return {
      workspace,
      projectId,
      made: () => made,
      async run({ what, n }: Step) {
        made += 1
        if (what !== 'sync') await steps[what](ids[n % ids.length]!)
      },
    }
  }

  test('each change is reported once, and nothing else', async () => {
    const workspace = await api.workspace()
    const passes: string[] = []
    const { id: projectId } = await makeProject(workspace)
    for (const label of ['Ada', 'Grace', 'Mary', 'Joan']) {
      passes.push((await issuedPass(workspace, { definition: content(2), projectId, label })).id)
    }
    await issuedPass(workspace, { label: 'Elsewhere' })
    const [ada, grace, mary] = passes as [string, string, string]
    const kept = await device(workspace, { projectId })
    expect(await kept.sync()).toMatchObject([{ items: [], removed: [], hasMore: false, projectId }])
    await workspace.ok(contract.scans.create, { body: { passId: ada } })
    await workspace.ok(contract.scans.create, { body: { qrPayload: 'nothing' } })
    await workspace.ok(contract.passes.void, { params: { id: grace }, body: {} })
    await erase(workspace, mary)
    const pages = await kept.sync()
    expect(pages.flatMap(({ removed }) => removed)).toEqual([mary])
    expect(pages.flatMap(({ items }) => items)).toMatchObject([
      { label: 'Ada', acceptedScans: [{}] },
      { label: 'Grace', status: 'VOID' },
    ])
    await kept.expectWhole()
    expect(changed(await kept.sync())).toEqual([])
  })

  test('a pass that expires at the time of a list is changed in that list, and in no later one', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: content(2) })
    const kept = await device(workspace, {})
    const until = new Date(api.now.getTime() + 10_000).toISOString()
    await makePass(workspace, template.id, { label: 'Ada', variables: { code: 'ada', until } })
    await api.runJobs()
    api.advance(9.999)
    expect(changed(await kept.sync())).toEqual(['Ada'])
    api.advance(0.001)
    expect(changed(await kept.sync())).toEqual(['Ada'])
    await kept.expectWhole()
    api.advance(1)
    expect(changed(await kept.sync())).toEqual([])
    await kept.expectWhole()
  })

  test('returns the complete list for an unknown list, that of another project, or one older than a day', async () => {
    const [workspace, stranger] = [await api.workspace(), await api.workspace()]
    const projectId = (await makeProject(workspace)).id
    const other = (await makeProject(workspace, 'Other')).id
    await issuedPass(workspace, { projectId })
    const { id } = await workspace.ok(snapshot, { query: { projectId } })
    const asked: [TestWorkspace, Query][] = [
      [workspace, { projectId, since: newId(api.now) }],
      [workspace, { projectId: other, since: id }],
      [workspace, { since: id }],
      [stranger, { since: id }],
    ]
    for (const [who, query] of asked) {
      expect(await who.refused(snapshot, { query })).toMatchObject({
        status: 409,
        errorCode: 'SCANNER_SNAPSHOT_STALE',
        message: expect.stringContaining('whole snapshot'),
        details: { snapshotId: query.since },
      })
    }
    api.advance(24 * 3600)
    await workspace.ok(snapshot, { query: { projectId, since: id } })
    api.advance(0.001)
    expect(await workspace.refused(snapshot, { query: { projectId, since: id } })).toMatchObject({ status: 409 })
    expect(await workspace.refused(snapshot, { query: { since: 'x' } as never })).toMatchObject({ status: 400 })
  })

  test('a renamed template makes lists outdated, since all of its passes show its name', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    await makePass(workspace, template.id)
    const rename = (body: object) => workspace.ok(contract.templates.update, { params: { id: template.id }, body })
    const kept = await device(workspace, {})
    await rename({ name: template.name, description: 'Another' })
    await kept.sync()
    await rename({ name: 'Day ticket' })
    expect(await workspace.refused(snapshot, { query: { since: kept.id } })).toMatchObject({
      status: 409,
      message: expect.stringContaining('renamed'),
    })
    const renamed = await device(workspace, {})
    await makePass(workspace, template.id)
    await renamed.sync()
    await renamed.expectWhole()
  })

  test('a cursor of changes works in its own list only', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { id: since } = await workspace.ok(snapshot, {})
    for (let n = 0; n < 3; n += 1) await makePass(workspace, template.id)
    const { nextCursor, id } = await workspace.ok(snapshot, { query: { since, limit: 1 } })
    const cursor = nextCursor!
    expect(await workspace.refused(snapshot, { query: { since: id, cursor } })).toMatchObject({ status: 400 })
    expect((await workspace.ok(snapshot, { query: { cursor, limit: 1 } })).removed).toEqual([])
    const whole = await workspace.ok(snapshot, { query: { limit: 1 } })
    expect(await workspace.refused(snapshot, { query: { since, cursor: whole.nextCursor! } })).toMatchObject({
      status: 400,
      details: { issues: [{ path: ['cursor'] }] },
    })
  })

  test('two devices that start from one list get the same result, for any repeated pages', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const devices = [await device(workspace, {})]
    const [{ id }] = [devices[0]!]
    for (let n = 0; n < 5; n += 1) await makePass(workspace, template.id)
    for (let n = 0; n < 2; n += 1) {
      const [first] = await pagesOf(workspace, { since: id, limit: 2 })
      const again = await workspace.ok(snapshot, { query: { since: id, limit: 2, cursor: first!.nextCursor! } })
      expect(again.items).toHaveLength(2)
    }
    const late = createDoorList([])
    for (const page of await pagesOf(workspace, { since: id, limit: 1 })) late.merge(page)
    expect(await devices[0]!.sync(5)).toHaveLength(1)
    expect(sorted(late.items())).toEqual(sorted(devices[0]!.list.items()))
  })

  testOn(dialect)('passes with very many scans are on separate pages', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const kept = await device(workspace, {})
    const counts = [3, 12_000, 4_000, 5_000, 4_000]
    for (const count of counts) {
      const { id } = await makePass(workspace, template.id)
      const rows = Array.from({ length: count }, (_, n) => ({
        scan_id: newId(api.now),
        workspace_id: workspace.id,
        pass_id: id,
        scan_context_key: '',
        scanned_at: n,
      }))
      await api.database.writer.transaction((tx) => insertRows(tx, 'accepted_scans', rows))
    }
    const pages = await kept.sync(100)
    const found = pages.map(({ items }) => items.map(({ acceptedScans }) => acceptedScans.length))
    expect(found.flat()).toEqual(counts)
    for (const page of found) expect(page.length === 1 || page.reduce((a, b) => a + b) <= 10_000).toBe(true)
    await kept.expectWhole()
  })

  test('every list includes passes of a server whose clock is ahead', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    // On PostgreSQL, this older transaction is still running when the list is created, so later changes are after its
    // position.
    const older = dialect === 'postgres' ? await api.database.writer.transaction() : undefined
    await older?.raw('select pg_current_xact_id()')
    api.advance(2)
    await makePass(workspace, template.id, { label: 'Ahead' })
    api.advance(-2)
    const kept = await device(workspace, {})
    await older?.rollback()
    expect(kept.list.size).toBe(0)
    api.advance(3)
    await kept.sync()
    await kept.expectWhole()
    expect(kept.list.size).toBe(1)
  })

  test('requests of doors of a project within 20 seconds share one list, and read each page once', async () => {
    const workspace = await api.workspace()
    const { id: projectId } = await makeProject(workspace)
    const { id: otherId } = await makeProject(workspace, 'Other')
    const passes: string[] = []
    for (const label of ['Ada', 'Grace', 'Mary']) {
      passes.push((await issuedPass(workspace, { definition: content(2), projectId, label })).id)
    }
    const scan = (passId: string) => workspace.ok(contract.scans.create, { body: { passId } })
    const wholes = vi.spyOn(SnapshotEntries.prototype, 'list')
    const tokens = [await doorOf(workspace, projectId), await doorOf(workspace, projectId)]
    const doors = await Promise.all([...tokens, ...tokens].map((token) => device(token, {})))
    expect(wholes).toHaveBeenCalledTimes(1)
    wholes.mockRestore()
    expect(new Set(doors.map(({ id }) => id)).size).toBe(1)
    const elsewhere = await device(await doorOf(workspace, otherId), {})
    expect(elsewhere.list.size).toBe(0)
    expect(elsewhere.id).not.toBe(doors[0]!.id)

    for (const passId of passes) await scan(passId)
    api.advance(SHARED_SECONDS)
    const changes = vi.spyOn(SnapshotEntries.prototype, 'listChanges')
    const [first, ...others] = doors
    expect(changed(await first!.sync(2))).toEqual(['Ada', 'Grace', 'Mary'])
    // Changes after the list arrive with the next request, also for a door with a different position.
    await scan(passes[0]!)
    for (const one of others) expect(changed(await one.sync(2))).toEqual(['Ada', 'Grace', 'Mary'])
    expect(changes).toHaveBeenCalledTimes(2)
    changes.mockRestore()
    // A client that is not a door of the project reads a separate snapshot.
    const { items } = await workspace.ok(snapshot, { query: { projectId, since: first!.id } })
    expect(items).toMatchObject([{ label: 'Ada', acceptedScans: [{}, {}] }])
    expect(changed(await first!.sync())).toEqual([])
    api.advance(SHARED_SECONDS)
    for (const one of doors) {
      expect(changed(await one.sync())).toEqual(['Ada'])
      expect(sorted(one.list.items())).toEqual(await wholeOf(workspace, { projectId }))
    }
    const target = targetOf(snapshot, { query: { since: elsewhere.id } })
    const refused = await tokens[0]!.send('GET', target)
    expect(refused).toMatchObject({ status: 409 })
    const read = async (encoding: string) => {
      const headers = { authorization: `Bearer ${tokens[0]!.token}`, 'accept-encoding': encoding }
      const response = await api.app.fetch(new Request(`https://passes.example${snapshot.path}`, { headers }))
      return Buffer.from(await response.arrayBuffer())
    }
    const [zipped, plain] = [await read('gzip'), await read('identity')]
    expect(gunzipSync(zipped).equals(plain)).toBe(true)
  })

  test('shared pages contain no data of an erased pass, and no former template names', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, {
      definition: content(2),
      projectId: (await makeProject(workspace)).id,
    })
    const projectId = template.projectId!
    const made = async (label: string) =>
      (await makePass(workspace, template.id, { label, variables: { code: label } })).id
    const door = await doorOf(workspace, projectId)
    const { id: since } = await door.ok(snapshot, {})
    // A cursor can contain any letters, but no space.
    const passes = [await made('Ada Lovelace'), await made('Grace'), await made('Mary')]
    api.advance(SHARED_SECONDS)
    const asked: Query[] = [{}, { since }, { limit: 1 }, { since, limit: 1 }]
    const cursors = new Map<Query, string | null>()
    for (const query of asked) cursors.set(query, (await door.ok(snapshot, { query })).nextCursor)
    await erase(workspace, passes[0]!)
    for (const query of asked) expect(await textOf(query)).not.toContain('Ada Lovelace')
    await workspace.ok(contract.passes.update, { params: { id: passes[1]! }, body: { label: 'Joan' } })
    await workspace.ok(contract.templates.update, { params: { id: template.id }, body: { name: 'Day ticket' } })
    const [item] = (await door.ok(snapshot, {})).items
    expect(item).toMatchObject({ label: 'Joan', templateName: 'Day ticket' })

    /** Returns all pages, from the first one and from the previous cursor. */
    async function textOf(query: Query) {
      const cursor = cursors.get(query)
      const later = cursor ? await pagesOf(door, { ...query, cursor }) : []
      return JSON.stringify([await pagesOf(door, query), later])
    }
  })

  test('deletes lists after two days', async () => {
    const workspace = await api.workspace()
    await workspace.ok(snapshot, {})
    const rows = () => api.database.writer('scanner_snapshots').where({ workspace_id: workspace.id })
    const services = { ...api.services, retention: { deliveriesDays: 0, auditDays: 0 } }
    await sweep(services)
    expect(await rows()).toHaveLength(1)
    api.advance(2 * 24 * 3600 + 1)
    await sweep(services)
    expect(await rows()).toHaveLength(0)
  })

  // SQLite has one writer at a time, so no other write is between the start of a list and its pages.
  test.runIf(dialect === 'postgres')('late commits are in the list or in the changes since it', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const [one, two] = [await makePass(workspace, template.id), await makePass(workspace, template.id)]
    const { store } = api.services
    const open = () =>
      new Promise<() => Promise<void>>((resolve) => {
        const done: Promise<void> = store.transaction(async (tx) => {
          await tx.passes.setVoid(workspace.id, [one.id], api.now)
          // Read the position without waiting for the change itself.
          await tx.passes.find(workspace.id, one.id)
          await new Promise<void>((end) => {
            resolve(() => {
              end()
              return done
            })
          })
        })
      })
    const commit = await open()
    const kept = await device(workspace, {})
    expect(kept.list.get(one.id)!.status).toBe('QUEUED')
    // A later transaction commits first.
    await workspace.ok(contract.passes.update, { params: { id: two.id }, body: { label: 'Grace' } })
    await kept.sync()
    expect(kept.list.get(two.id)!.label).toBe('Grace')
    await commit()
    await kept.sync()
    expect(kept.list.get(one.id)!.status).toBe('VOID')
    await kept.expectWhole()
  })

  test('a concurrent writer loses no change', async () => {
    const workspace = await api.workspace()
    const passes: string[] = []
    const template = await publishedTemplate(workspace, { definition: content(100) })
    for (let n = 0; n < 6; n += 1) {
      passes.push((await makePass(workspace, template.id, { variables: { code: `c${n}` } })).id)
    }
    await api.runJobs()
    const kept = await device(workspace, {})
    let isOver = false
    const write = async (seed: number) => {
      for (let n = seed; !isOver; n += 1) {
        const id = passes[n % passes.length]!
        if (n % 3 === 0) await workspace.ok(contract.scans.create, { body: { passId: id } })
        else await workspace.ok(contract.passes.update, { params: { id }, body: { label: `Ada ${n}` } })
      }
    }
    const writers = [write(0), write(1), write(2)]
    for (let n = 0; n < times(4, 20); n += 1) await kept.sync(2)
    isOver = true
    await Promise.all(writers)
    await kept.sync()
    await kept.expectWhole()
  })
})

/** Sorts items, and the digests of each, which have no defined order. */
function sorted(items: Iterable<SnapshotItem>): SnapshotItem[] {
  return [...items]
    .sort((a, b) => (a.passId < b.passId ? -1 : 1))
    .map((item) => ({
      ...item,
      identifiers: item.identifiers.toSorted(),
      staleIdentifiers: item.staleIdentifiers.toSorted(),
    }))
}
