import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Broadcast, BroadcastCreate, BroadcastForecast } from '../../../src/core/contract/messages/broadcasts.ts'
import { newId } from '../../../src/core/ids.ts'
import { fanOutBroadcasts } from '../../../src/server/messages/fan-out-broadcast.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { makeProject, passBody, publishedTemplate } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const { create, list, get, stats, cancel } = contract.broadcasts
const text = { body: 'Doors open at 7' }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const later = (seconds: number) => new Date(api.now.getTime() + seconds * 1000).toISOString()

  /** Creates a project with issued passes, and one pass in each other status. */
  async function projectWith(issued: number) {
    const project = await makeProject(workspace)
    const template = await publishedTemplate(workspace, { projectId: project.id })
    const passes = Array.from({ length: issued + 2 }, () => passBody(template.id))
    const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes } })
    const passIds = results.map(({ pass }) => pass!.id)
    await api.runJobs()
    const [voided, queued] = passIds.splice(0, 2) as [string, string]
    await workspace.ok(contract.passes.void, { params: { id: voided }, body: {} })
    await api.database.writer('passes').where({ id: queued }).update({ status: 'QUEUED', issued_at: null })
    return { params: { id: project.id }, passIds, voided, queued, templateId: template.id }
  }

  const send = async (params: { id: string }, body: Partial<BroadcastCreate> = {}) =>
    (await workspace.ok(create, { params, body: { ...text, ...body } })) as Broadcast

  const notifications = async (passId: string) =>
    (await workspace.ok(contract.notifications.list, { params: { id: passId } })).items

  test('a broadcast sends one notification to each issued pass of its project, and to no other pass', async () => {
    const { params, passIds, voided, queued } = await projectWith(3)
    const { passIds: strangers } = await projectWith(1)
    await phones.addApple(workspace.id, passIds[0]!)
    const body = { ...text, options: { google: { header: 'Tonight' } } }
    const answer = await workspace.call(create, { params, body })
    expect(answer.status).toBe(201)
    const created = answer.body as Broadcast
    expect(created).toMatchObject({
      projectId: params.id,
      ...body,
      platforms: ['apple', 'google'],
      sendAt: null,
      status: 'PENDING',
      passCount: null,
    })
    await api.runJobs()
    const named = { params: { ...params, broadcastId: created.id } }
    expect(await workspace.ok(get, named)).toMatchObject({ status: 'DISPATCHED', passCount: 3 })
    for (const [n, passId] of passIds.entries()) {
      const items = await notifications(passId)
      expect(items).toMatchObject([
        { passId, broadcastId: created.id, ...body, sendAt: null, status: n === 0 ? 'SENT' : 'SKIPPED' },
      ])
    }
    for (const passId of [voided, queued, ...strangers]) expect(await notifications(passId)).toEqual([])
    expect(await workspace.ok(stats, named)).toEqual({
      broadcastId: created.id,
      status: 'DISPATCHED',
      fannedOut: 3,
      pending: 0,
      sent: 1,
      partial: 0,
      failed: 0,
      skipped: 2,
      classErrors: [],
    })
  })

  test('a broadcast targets the passes that are issued when it starts, not when it was created', async () => {
    const { params, passIds, queued } = await projectWith(2)
    const { id } = await send(params, { sendAt: later(60) })
    await workspace.ok(contract.passes.void, { params: { id: passIds[0]! }, body: {} })
    await api.services.store.transaction((tx) => tx.passes.setIssued(workspace.id, [queued], api.now))
    api.advance(60)
    await api.runJobs()
    expect(await notifications(passIds[0]!)).toEqual([])
    expect(await notifications(passIds[1]!)).toHaveLength(1)
    expect(await notifications(queued)).toHaveLength(1)
    const named = { params: { ...params, broadcastId: id } }
    expect(await workspace.ok(get, named)).toMatchObject({ passCount: 2, sendAt: expect.any(String) })
  })

  test('a broadcast selects its passes when it starts, regardless of later changes', async () => {
    const { params, passIds, queued } = await projectWith(2)
    const { id } = await send(params)
    const claim = { priority: 'bulk' as const, limit: 1, leaseSeconds: 10 }
    const { store } = api.services
    const [job] = await store.transaction((tx) => tx.jobs.claim('database', api.now, claim))
    await store.transaction((tx) => tx.broadcasts.setStarted(workspace.id, id, api.now))
    api.advance(1)
    await workspace.ok(contract.passes.void, { params: { id: passIds[0]! }, body: {} })
    await store.transaction((tx) => tx.passes.setIssued(workspace.id, [queued], api.now))
    await fanOutBroadcasts([job!], api.services)
    await api.runJobs()
    expect(await notifications(passIds[0]!)).toMatchObject([{ status: 'SKIPPED' }])
    expect(await notifications(passIds[1]!)).toHaveLength(1)
    expect(await notifications(queued)).toEqual([])
  })

  test('a broadcast with a filter reaches the issued passes that match when it starts', async () => {
    const { params, passIds, queued, templateId } = await projectWith(4)
    const [gold, silver, late, bronze] = passIds as [string, string, string, string]
    const setTier = (id: string, tier: string) =>
      workspace.ok(contract.passes.update, { params: { id }, query: {}, body: { variables: { tier } } })
    for (const id of [gold, queued]) await setTier(id, 'gold')
    await setTier(silver, 'silver')
    await setTier(bronze, 'bronze')
    await api.runJobs()
    await phones.addApple(workspace.id, gold)
    const filter = { variable: ['tier:gold', 'tier:silver'], templateId }
    const sent = await send(params, { filter, sendAt: later(60) })
    expect(sent.filter).toEqual(filter)
    await setTier(late, 'silver')
    await setTier(silver, 'none')
    await api.database.writer('passes').where({ id: queued }).update({ status: 'QUEUED', issued_at: null })
    const forecast = await workspace.ok(create, { params, query: { dryRun: true }, body: { ...text, filter } })
    expect(forecast).toMatchObject({ passCount: 2, reach: { apple: 1, google: 0, neither: 1 } })
    api.advance(60)
    await api.runJobs()
    const counts = [gold, late, silver, bronze, queued].map(async (id) => (await notifications(id)).length)
    expect(await Promise.all(counts)).toEqual([1, 1, 0, 0, 0])
    const named = { params: { ...params, broadcastId: sent.id } }
    expect(await workspace.ok(get, named)).toMatchObject({ passCount: 2, filter })
    expect(await workspace.ok(list, { params, query: {} })).toMatchObject({ items: [{ filter }] })
  })

  test('a broadcast without a filter has none in its record and its forecast', async () => {
    const { params } = await projectWith(1)
    expect(Object.keys(await send(params))).not.toContain('filter')
    const forecast = await workspace.ok(create, { params, query: { dryRun: true }, body: text })
    expect(Object.keys(forecast)).not.toContain('reach')
  })

  test('a filter is rejected if it is not valid, or with googleVia class', async () => {
    const { params } = await projectWith(1)
    const issuesOf = async (body: object) => {
      const answer = await workspace.call(create, { params, body: { ...text, ...body } })
      expect(answer.status).toBe(400)
      return (answer.body as unknown as { details: { issues: { path: unknown[] }[] } }).details.issues
    }
    expect(await issuesOf({ filter: { status: 'ISSUED', installed: 'true' } })).toEqual([
      { path: ['filter', 'status'], message: 'Unknown property' },
    ])
    expect(await issuesOf({ filter: { installed: ['true', 'maybe'] } })).toEqual([
      { path: ['filter', 'installed', 1], message: 'Must be true or false' },
    ])
    expect(await issuesOf({ filter: { labelMatch: 'prefix' } })).toEqual([
      { path: ['filter', 'labelMatch'], message: 'Requires the parameter label' },
    ])
    expect(await issuesOf({ filter: {}, googleVia: 'class' })).toMatchObject([{ path: ['googleVia'] }])
  })

  test('a broadcast over several chunks creates one notification per pass, with IDs of their time', async () => {
    const { params, templateId, passIds } = await projectWith(1)
    const { store } = api.services
    const [version] = await store.templateVersions.listNewestPublished(workspace.id, [templateId])
    const more = Array.from({ length: 700 }, (_, n) => ({
      id: newId(api.now),
      externalPassId: `${params.id}-${n}`,
      label: 'x',
      templateId,
      projectId: params.id,
      templateVersionId: version!.id,
      templateVersion: 1,
      variables: {},
      redemption: null,
      hasBalances: false,
      expiresAt: null,
      scanCode: 'x',
      appleToken: 'x',
      identifierDigest: Buffer.from(`${n}`),
    }))
    for (let start = 0; start < more.length; start += 100) {
      const some = more.slice(start, start + 100)
      await store.transaction(async (tx) => {
        await tx.passes.insert(workspace.id, some, api.now)
        await tx.passes.setIssued(
          workspace.id,
          some.map((pass) => pass.id),
          api.now,
        )
      })
    }
    const { id } = await send(params)
    const claim = { priority: 'bulk' as const, limit: 1, leaseSeconds: 10 }
    const jobs = await store.transaction((tx) => tx.jobs.claim('database', api.now, claim))
    await fanOutBroadcasts(jobs, api.services)
    const rows: { id: string; pass_id: string }[] = await api.database
      .writer('notifications')
      .where({ broadcast_id: id })
    const expected = [...passIds, ...more.map((pass) => pass.id)]
    expect(rows.map((row) => row.pass_id).sort()).toEqual(expected.sort())
    for (const row of rows) {
      expect(row.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(Number.parseInt(row.id.replace('-', '').slice(0, 12), 16)).toBe(api.now.getTime())
    }
    const queued = await api.database
      .writer('jobs')
      .where({ kind: 'send-broadcast-notification', workspace_id: workspace.id })
    expect(queued.map((job) => job.subject).sort()).toEqual(rows.map((row) => row.id).sort())
    const named = { params: { ...params, broadcastId: id } }
    expect(await workspace.ok(get, named)).toMatchObject({ status: 'DISPATCHED', passCount: 701 })
    await api.database.writer('jobs').where({ kind: 'send-broadcast-notification' }).delete()
  })

  test('a broadcast is FAILED on google for a pass at its cap, and does not count toward the cap', async () => {
    const { params, passIds } = await projectWith(2)
    const [full, other] = passIds as [string, string]
    await phones.addApple(workspace.id, full)
    await phones.addGoogle(workspace.id, other)
    for (let n = 0; n < 3; n += 1) {
      await workspace.ok(contract.notifications.create, { params: { id: full }, body: text })
      api.advance(1)
    }
    await send(params)
    await api.runJobs()
    const [failed] = await notifications(full)
    expect(failed).toMatchObject({ status: 'PARTIAL', apple: { status: 'SENT' }, google: { status: 'FAILED' } })
    expect(failed!.google.error).toMatch(/^PASS_NOTIFICATION_RATE_LIMITED/)
    expect(await notifications(other)).toMatchObject([{ status: 'SENT', google: { status: 'SENT' } }])
    const answer = await workspace.call(contract.notifications.create, { params: { id: full }, body: text })
    expect(answer.headers.get('retry-after')).toBe(String(24 * 3600 - 3))
  })

  test('a broadcast counts toward the cap of each pass that it reaches', async () => {
    const { params, passIds } = await projectWith(1)
    for (let n = 0; n < 4; n += 1) {
      await send(params)
      await api.runJobs()
    }
    const states = (await notifications(passIds[0]!)).map(({ google }) => google.status)
    expect(states.sort()).toEqual(['FAILED', 'SKIPPED', 'SKIPPED', 'SKIPPED'])
    const rejection = await workspace.refused(contract.notifications.create, {
      params: { id: passIds[0]! },
      body: text,
    })
    expect(rejection.status).toBe(429)
  })

  test('a dry run of a broadcast reports the number of passes that it would reach, and stores nothing', async () => {
    const { params, passIds } = await projectWith(4)
    await phones.addApple(workspace.id, passIds[0]!)
    await phones.addApple(workspace.id, passIds[0]!)
    await phones.addGoogle(workspace.id, passIds[1]!)
    await phones.addGoogle(workspace.id, passIds[2]!)
    for (const passId of passIds.slice(2)) {
      for (let n = 0; n < 3; n += 1)
        await workspace.ok(contract.notifications.create, { params: { id: passId }, body: text })
    }
    const dryRun = async (body: Partial<BroadcastCreate> = {}) =>
      (await workspace.ok(create, { params, query: { dryRun: true }, body: { ...text, ...body } })) as BroadcastForecast
    const forecast = { dryRun: true, projectId: params.id, passCount: 4, apple: { passCount: 1 } }
    expect(await dryRun()).toEqual({
      ...forecast,
      platforms: ['apple', 'google'],
      sendAt: null,
      google: { passCount: 2, classes: 0, others: 0, overCap: 1, seconds: 1 },
    })
    expect(await dryRun({ platforms: ['apple'] })).toMatchObject({ google: { passCount: 0, overCap: 0, seconds: 0 } })
    expect(await dryRun({ sendAt: later(24 * 3600) })).toMatchObject({ google: { passCount: 2, overCap: 0 } })
    expect(await workspace.ok(list, { params })).toMatchObject({ total: 0 })
  })

  test('concurrent creates with one idempotency key make one broadcast, across projects', async () => {
    const [{ params }, { params: other }] = [await projectWith(0), await projectWith(0)]
    const body = { ...text, idempotencyKey: `all-at-once`, sendAt: later(60) }
    const answers = await Promise.all(
      Array.from({ length: times(15, 50) }, (_, n) =>
        workspace.served(create, { params: n % 2 ? params : other, body }),
      ),
    )
    expect(new Set(answers.map((answer) => (answer.body as Broadcast).id)).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    const unknown = { id: '018f2f5e-7c1a-7000-8000-0123456789ab' }
    expect((await workspace.call(create, { params: unknown, body })).status).toBe(200)
  })

  test('cancelling a scheduled broadcast deletes it, frees its key, and notifies no pass', async () => {
    const { params, passIds } = await projectWith(1)
    const body = { sendAt: later(60), idempotencyKey: 'cancel-this' }
    const { id, status } = await send(params, body)
    expect(status).toBe('SCHEDULED')
    const named = { params: { ...params, broadcastId: id } }
    expect((await workspace.call(cancel, named)).status).toBe(204)
    expect(await workspace.refused(get, named)).toMatchObject({ errorCode: 'PASS_NOTIFICATION_BROADCAST_NOT_FOUND' })
    const again = await send(params, body)
    expect(again.id).not.toBe(id)
    await workspace.call(cancel, { params: { ...params, broadcastId: again.id } })
    api.advance(60)
    await api.runJobs()
    expect(await notifications(passIds[0]!)).toEqual([])
  })

  test('a broadcast cannot be cancelled from its scheduled time on', async () => {
    const { params } = await projectWith(0)
    const { id } = await send(params, { sendAt: later(60) })
    const named = { params: { ...params, broadcastId: id } }
    api.advance(60)
    const rejection = { status: 409, errorCode: 'PASS_NOTIFICATION_BROADCAST_ALREADY_DISPATCHED' }
    expect(await workspace.refused(cancel, named)).toMatchObject(rejection)
    expect(await workspace.ok(get, named)).toMatchObject({ status: 'PENDING' })
    await api.runJobs()
    expect(await workspace.refused(cancel, named)).toMatchObject(rejection)
  })

  test('lists the broadcasts of a project, newest first', async () => {
    const [{ params }, { params: other }] = [await projectWith(0), await projectWith(0)]
    const ids: string[] = []
    for (let n = 0; n < 3; n += 1) ids.unshift((await send(params)).id)
    await send(other)
    const page = await workspace.ok(list, { params, query: { limit: 2 } })
    const rest = await workspace.ok(list, { params, query: { limit: 2, cursor: page.nextCursor! } })
    expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(ids)
    const foreign = { params: { ...other, broadcastId: ids[0]! } }
    expect(await workspace.refused(get, foreign)).toMatchObject({ status: 404 })
  })
})
