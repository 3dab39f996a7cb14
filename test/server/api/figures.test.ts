import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { reasonCodeOf } from '../../../src/core/rules/redemption/scan-reasons.ts'
import { expirePasses, packFigures } from '../../../src/server/background/maintenance.ts'
import { type Figure, pack, unpack } from '../../../src/storage/operations/figures-repository.ts'
import { TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { makePass, makeProject, publishedTemplate } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const { projects, passes, scans, notifications } = contract

const HOUR = 3_600_000

type Step = 'issue' | 'void' | 'update' | 'scan' | 'install' | 'remove' | 'fetch' | 'notify' | 'later'
const steps: Step[] = ['issue', 'void', 'update', 'scan', 'install', 'remove', 'fetch', 'notify', 'later']

describe.each(dialects)('figures, on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)

  async function makeScene() {
    api.advance(1)
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const template = await publishedTemplate(workspace, { projectId: project.id })
    const from = new Date(Math.floor(api.now.getTime() / HOUR) * HOUR).toISOString()
    const figures = async (query: object = {}) =>
      (
        await workspace.ok(projects.figures, {
          params: { id: project.id },
          query: { from, by: 'hour', zone: 'UTC', ...query },
        })
      ).items
    return { workspace, project, template, from, figures }
  }

  /** Counts the ledger and the events by hour. */
  async function recount(workspace: TestWorkspace, projectId: string) {
    const db = api.database.writer
    const ours = new Set(await db('passes').where({ project_id: projectId }).pluck('id'))
    const all = new Map<string, number>()
    const add = (at: number, name: string) => {
      const key = `${new Date(Math.floor(at / HOUR) * HOUR).toISOString()} ${name}`
      all.set(key, (all.get(key) ?? 0) + 1)
    }
    for (const event of await db('events').where({ workspace_id: workspace.id })) {
      const [, type] = event.type.split('.')
      const { platform } = JSON.parse(event.data)
      if (!ours.has(event.subject) || !/issued|voided|updated|installed|removed/.test(type)) continue
      add(event.created_at, platform ? `${type}.${platform}` : type)
    }
    for (const scan of await db('scans').where({ workspace_id: workspace.id, project_id: projectId })) {
      const code = reasonCodeOf({ reasonCode: scan.reason_code, reason: scan.reason })
      if (code) add(scan.scanned_at, `scans.${code}`)
    }
    return all
  }

  const flat = (items: Awaited<ReturnType<Awaited<ReturnType<typeof makeScene>>['figures']>>) =>
    new Map(
      items.flatMap(({ at, ...item }) =>
        Object.entries(item)
          .flatMap(([name, value]) =>
            typeof value === 'number'
              ? [[name, value] as const]
              : Object.entries(value).map(([kind, n]) => [`${name}.${kind}`, n] as const),
          )
          .filter(([, n]) => n > 0)
          .map(([name, n]) => [`${at} ${name}`, n] as const),
      ),
    )
  const recounted = (all: Map<string, number>) =>
    new Map([...all].filter(([key]) => /issued|voided|updated|installed|removed|scans/.test(key)))

  test('match the ledger and the events in any case, before packing and after', async () => {
    const { workspace, project, template, figures } = await makeScene()
    const held: Pass[] = []
    const stored = (pass: Pass) => api.services.store.passes.find(workspace.id, pass.id)
    let serial = 0
    const device = async (method: 'POST' | 'DELETE', pass: Pass, name: string) => {
      const { appleToken } = (await stored(pass))!
      const path = `/apple/v1/devices/${name}/registrations/pass.test.api/${pass.id}`
      const headers = { authorization: `ApplePass ${appleToken}` }
      await api.send(method, path, {
        ...(method === 'POST' && { body: { pushToken: phones.apns.newDeviceToken('pass.test.api') } }),
        headers,
      })
    }
    const actions: Record<Step, (pass: Pass) => Promise<unknown>> = {
      issue: async () => {
        held.push(await makePass(workspace, template.id))
        await api.runJobs()
      },
      void: ({ id }) => workspace.call(passes.void, { params: { id }, body: {} }),
      update: async ({ id }) => {
        serial += 1
        await workspace.call(passes.update, { params: { id }, body: { label: `Guest ${serial}` } })
        await api.runJobs()
      },
      scan: ({ id }) => workspace.ok(scans.create, { body: { passId: id } }),
      install: (pass) => device('POST', pass, `phone-${serial % 3}`),
      remove: (pass) => device('DELETE', pass, `phone-${serial % 3}`),
      fetch: async (pass) => {
        const { walletVersion } = (await stored(pass))!
        await api.services.store.statement((tx) =>
          tx.registrations.setFetched(workspace.id, pass.id, walletVersion, api.now),
        )
      },
      notify: async ({ id }) => {
        await workspace.call(notifications.create, {
          params: { id },
          body: { body: 'Doors open', platforms: ['apple'] },
        })
        await api.runJobs()
      },
      later: async () => api.advance(2000),
    }
    await actions.issue(held[0]!)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...steps), fc.nat()), { minLength: 5, maxLength: 15 }),
        async (plan) => {
          for (const [step, which] of plan) await actions[step](held[which % held.length]!)
          expect(recounted(flat(await figures()))).toEqual(await recount(workspace, project.id))
        },
      ),
      { numRuns: times(4, 100), endOnFailure: true },
    )
    // The first hour has ended then, even if the run was short.
    api.advance(3_600)
    const before = await figures()
    const db = api.database.writer
    api.advance(4 * 86_400)
    const until = { to: before.at(-1)!.at }
    const live = await figures(until)
    await packFigures(api.services)
    expect(await db('figures').where({ project_id: project.id })).toEqual([])
    expect(await figures(until)).toEqual(live)
    // Late events count in their own hour and are packed like the others.
    await api.services.store.transaction((tx) =>
      tx.figures.insert(workspace.id, [
        { projectId: project.id, hour: Date.parse(before[0]!.at) / HOUR, figure: 'opened/apple', n: 3 },
      ]),
    )
    const [first] = await figures(until)
    expect(first).toEqual({ ...live[0], opened: { apple: 3, google: 0, other: 0 } })
    await packFigures(api.services)
    expect((await figures(until))[0]).toEqual(first)
    // `doctor --recount` restores counts that were changed in the database, packed or not, from the ledger.
    const { store } = api.services
    const recountScans = () => store.transaction((tx) => tx.figures.recountScans(workspace.id, project.id))
    expect(await recountScans()).toEqual([])
    await actions.scan(held[0]!)
    const right = await figures()
    await db('packed_figures')
      .where({ project_id: project.id })
      .update({ packed: pack([], 0) })
    await db('figures').where({ project_id: project.id }).update({ n: 7 })
    expect((await recountScans()).length).toBeGreaterThan(0)
    expect((await figures()).map(({ scans }) => scans)).toEqual(right.map(({ scans }) => scans))
    expect(await recountScans()).toEqual([])
  })

  test('are packed in blocks of 28 days, each with its own hours only', async () => {
    const { workspace, project } = await makeScene()
    const { store } = api.services
    const edge = 672 * 730
    const hours = [edge - 1, edge, edge + 671, edge + 672]
    const counted = hours.map((hour, n) => ({ projectId: project.id, hour, figure: 'opened/apple', n: n + 1 }))
    await store.transaction((tx) => tx.figures.insert(workspace.id, counted))
    while (await store.transaction((tx) => tx.figures.pack(edge + 1000)));
    const span = { from: edge - 1, until: edge + 673 }
    const sums = await store.figures.sums(workspace.id, project.id, span, hours)
    expect(sums.get('opened/apple')).toEqual([1, 2, 3, 4])
    // For a range that starts with a block, no earlier block is read.
    const ofBlock = await store.figures.sums(workspace.id, project.id, { from: edge, until: edge + 672 }, [edge])
    expect(ofBlock.get('opened/apple')).toEqual([5])
  })

  test('count pushes, fetches, notifications and expiries once each', async () => {
    const { workspace, template, figures, project } = await makeScene()
    const expiresAt = new Date(api.now.getTime() + 600_000).toISOString()
    const [pass, over] = [await makePass(workspace, template.id), await makePass(workspace, template.id)]
    await api.runJobs()
    await api.database
      .writer('passes')
      .where({ id: over.id })
      .update({ expires_at: Date.parse(expiresAt) })
    for (let n = 0; n < 2; n++) await phones.addApple(workspace.id, pass.id)
    await workspace.ok(passes.update, { params: { id: pass.id }, body: { label: 'Grace' } })
    await api.runJobs()
    await api.runJobs()
    const { walletVersion } = (await api.services.store.passes.find(workspace.id, pass.id))!
    const fetched = () =>
      api.services.store.statement((tx) => tx.registrations.setFetched(workspace.id, pass.id, walletVersion, api.now))
    for (let n = 0; n < 3; n++) await fetched()
    await workspace.ok(notifications.create, {
      params: { id: pass.id },
      body: { body: 'Doors open', platforms: ['apple'] },
    })
    await api.runJobs()
    api.advance(600)
    await expirePasses(api.services)
    await expirePasses(api.services)
    const sum = (items: Awaited<ReturnType<typeof figures>>, name: 'pushed' | 'fetched' | 'notified' | 'expired') =>
      items.reduce((all, item) => all + item[name], 0)
    const items = await figures({ by: 'month' })
    expect([sum(items, 'fetched'), sum(items, 'notified'), sum(items, 'expired')]).toEqual([2, 1, 1])
    // Two devices were pushed for the label, and then for the message.
    expect(sum(items, 'pushed')).toBe(4)
    const other = await api.workspace()
    const elsewhere = { params: { id: project.id }, query: { from: expiresAt } }
    expect(await other.refused(projects.figures, elsewhere)).toMatchObject({ errorCode: 'NOT_FOUND' })
    const next = await makeProject(workspace, 'Next season')
    const bound = new TestWorkspace(api, workspace.id, await api.token(workspace.id, { projectIds: [next.id] }))
    expect(await bound.refused(projects.figures, elsewhere)).toMatchObject({ errorCode: 'NOT_FOUND' })
    await workspace.ok(projects.delete, { params: { id: project.id } })
    await api.runJobs()
    expect(await api.database.writer('figures').where({ project_id: project.id })).toEqual([])
  })

  test('repeated opens of a link are one row, and previews by programs are none', async () => {
    const { workspace, template, figures } = await makeScene()
    const pass = await makePass(workspace, template.id)
    await api.runJobs()
    const { hostedLinks } = await workspace.ok(passes.get, { params: { id: pass.id } })
    const open = (link: string | null, headers: Record<string, string> = {}) =>
      api.send('GET', new URL(link!).pathname, { headers: { accept: 'text/html', ...headers } })
    for (let n = 0; n < 20; n++) await open(hostedLinks.smart)
    await open(hostedLinks.apple)
    await open(hostedLinks.google)
    await open(hostedLinks.smart, { 'user-agent': 'WhatsApp/2.23' })
    const db = api.database.writer
    const opened = () => db('figures').where({ workspace_id: workspace.id }).whereLike('figure', 'opened/%')
    await api.services.linkOpens.flush()
    expect((await opened()).map(({ figure, n }) => [figure, n]).sort()).toEqual([
      ['opened/apple', 1],
      ['opened/google', 1],
      ['opened/other', 20],
    ])
    expect((await figures())[0]!.opened).toEqual({ apple: 1, google: 1, other: 20 })
  })
})

test('packed figures are unpacked again, summed by hour', () => {
  const figure = fc.record({
    hour: fc.integer({ min: 672 * 700, max: 672 * 701 - 1 }),
    figure: fc.constantFrom('issued', 'opened/apple', 'scans/valid'),
    n: fc.oneof(
      fc.integer({ min: -100, max: 300 }),
      fc.maxSafeNat().map((n) => Math.floor(n / 64)),
    ),
  })
  fc.assert(
    fc.property(fc.array(figure), (figures) => {
      const sums = (all: Figure[]) => {
        const map = new Map<string, number>()
        for (const { hour, figure, n } of all) {
          map.set(`${hour} ${figure}`, (map.get(`${hour} ${figure}`) ?? 0) + n)
        }
        return [...map].filter(([, n]) => n !== 0).sort()
      }
      expect(sums(unpack(pack(figures, 700), 700))).toEqual(sums(figures))
    }),
    { numRuns: times(50, 1000) },
  )
})
