import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { issuedPass, makePass, publishedTemplate } from '../fixtures.ts'

const { create, list, get, cancel } = contract.notifications
const HOUR = 3600

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace
  let pass: Awaited<ReturnType<typeof issuedPass>>

  beforeAll(async () => {
    workspace = await api.workspace()
    pass = await issuedPass(workspace)
  })

  const later = (seconds: number) => new Date(api.now.getTime() + seconds * 1000).toISOString()
  const text = { body: 'Doors open at 7' }
  const newPass = async () => ({ id: (await issuedPass(workspace)).id })

  test('an immediate notification responds 201 and is PENDING on the targeted platforms only', async () => {
    const body = { ...text, platforms: ['google' as const], options: { google: { header: 'Hello' } } }
    const { status, body: created } = await workspace.call(create, { params: { id: pass.id }, body })
    expect(status).toBe(201)
    expect(created).toMatchObject({
      passId: pass.id,
      ...text,
      options: body.options,
      sendAt: null,
      status: 'PENDING',
      apple: { status: 'SKIPPED', deviceCount: 0 },
      google: { status: 'PENDING' },
    })
    expect(created).not.toHaveProperty('broadcastId')
  })

  test('a sendAt that is not in the future sends at once', async () => {
    for (const sendAt of [later(0), later(-10)]) {
      const created = await workspace.ok(create, { params: await newPass(), body: { ...text, sendAt } })
      expect(created).toMatchObject({ status: 'PENDING', sendAt: null })
    }
  })

  test('a notification is SCHEDULED until sendAt, then PENDING, and its job delivers it', async () => {
    const params = await newPass()
    const sendAt = later(60)
    const { id } = await workspace.ok(create, { params, body: { ...text, sendAt } })
    const read = () => workspace.ok(get, { params: { ...params, notificationId: id } })
    api.advance(59.999)
    await api.runJobs()
    expect(await read()).toMatchObject({ status: 'SCHEDULED', sendAt })
    api.advance(0.001)
    expect(await read()).toMatchObject({ status: 'PENDING' })
    await api.runJobs()
    expect(await read()).toMatchObject({ status: 'SKIPPED' })
  })

  test('rejects a notification of a pass that is not issued with 409 PASS_NOT_ISSUED', async () => {
    const voided = await newPass()
    await workspace.ok(contract.passes.void, { params: voided, body: {} })
    const queued = await makePass(workspace, (await publishedTemplate(workspace)).id)
    for (const [id, status] of [
      [queued.id, 'QUEUED'],
      [voided.id, 'VOID'],
    ] as const) {
      const rejection = await workspace.refused(create, { params: { id }, body: text })
      expect(rejection).toMatchObject({ status: 409, errorCode: 'PASS_NOT_ISSUED', details: { status } })
    }
    await api.runJobs()
  })

  test('lists notifications newest first in pages, and rejects a sort', async () => {
    const params = await newPass()
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) {
      const body = { body: `${n}`, platforms: ['apple' as const] }
      ids.unshift((await workspace.ok(create, { params, body })).id)
    }
    const first = await workspace.ok(list, { params, query: { limit: 3 } })
    const second = await workspace.ok(list, { params, query: { limit: 3, cursor: first.nextCursor! } })
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids)
    expect([first.total, second.hasMore, second.offset]).toEqual([5, false, 3])
    const other = await newPass()
    const foreign = { params: other, query: { cursor: first.nextCursor! } }
    expect(await workspace.refused(list, foreign)).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
    const sorted = { params, query: { sortBy: 'createdAt' } as never }
    expect(await workspace.refused(list, sorted)).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
  })

  describe('an idempotency key', () => {
    test('returns the existing notification with 200 for any pass and content', async () => {
      const [params, other] = [await newPass(), await newPass()]
      const body = { ...text, idempotencyKey: 'order-4711' }
      const first = await workspace.ok(create, { params, body })
      await workspace.ok(contract.passes.void, { params: other, body: {} })
      for (const [target, change] of [
        [params, {}],
        [params, { body: 'Another text', sendAt: later(HOUR) }],
        [other, {}],
        [{ id: '018f2f5e-7c1a-7000-8000-0123456789ab' }, {}],
      ] as const) {
        const { status, body: known } = await workspace.call(create, { params: target, body: { ...body, ...change } })
        expect([status, known]).toEqual([200, first])
      }
    })

    test('creates one notification for concurrent requests on several passes', async () => {
      const passes = [await newPass(), await newPass(), await newPass()]
      const count = times(30, 100)
      const body = { ...text, idempotencyKey: 'all at once', platforms: ['apple' as const] }
      const answers = await Promise.all(
        Array.from({ length: count }, (_, n) => workspace.served(create, { params: passes[n % 3]!, body })),
      )
      expect(new Set(answers.map((answer) => (answer.body as { id: string }).id)).size).toBe(1)
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(count - 1)
      const jobs = await api.database.writer('jobs').where({ kind: 'send-notification', workspace_id: workspace.id })
      expect(jobs.filter((job) => job.subject === (answers[0]!.body as { id: string }).id)).toHaveLength(1)
    })

    test('is independent of other workspaces and of broadcasts', async () => {
      const stranger = await api.workspace()
      const theirs = await issuedPass(stranger)
      const body = { ...text, idempotencyKey: 'shared-key' }
      await workspace.ok(create, { params: await newPass(), body })
      expect((await stranger.call(create, { params: { id: theirs.id }, body })).status).toBe(201)
      const project = await workspace.ok(contract.projects.create, { body: { name: 'P' } })
      expect((await workspace.call(contract.broadcasts.create, { params: { id: project.id }, body })).status).toBe(201)
      await api.runJobs()
    })
  })

  describe('cancelling a notification', () => {
    test('deletes a scheduled notification with its job, and frees its key', async () => {
      const params = await newPass()
      const body = { ...text, sendAt: later(60), idempotencyKey: 'cancel-me' }
      const { id } = await workspace.ok(create, { params, body })
      const named = { params: { ...params, notificationId: id } }
      expect((await workspace.call(cancel, named)).status).toBe(204)
      for (const route of [get, cancel]) {
        expect(await workspace.refused(route, named)).toMatchObject({ errorCode: 'PASS_NOTIFICATION_NOT_FOUND' })
      }
      expect(await workspace.ok(list, { params })).toMatchObject({ total: 0 })
      expect((await workspace.call(create, { params, body })).status).toBe(201)
      expect(await api.database.writer('jobs').where({ subject: id })).toEqual([])
    })

    test('is rejected with 409 from sendAt on', async () => {
      const params = await newPass()
      const { id } = await workspace.ok(create, { params, body: { ...text, sendAt: later(60) } })
      const named = { params: { ...params, notificationId: id } }
      api.advance(60)
      const rejection = { status: 409, errorCode: 'PASS_NOTIFICATION_ALREADY_SENT' }
      expect(await workspace.refused(cancel, named)).toMatchObject(rejection)
      await api.runJobs()
      expect(await workspace.refused(cancel, named)).toMatchObject(rejection)
      // Regardless of how far the clock is set back.
      api.advance(-HOUR)
      expect(await workspace.refused(cancel, named)).toMatchObject(rejection)
      api.advance(HOUR)
    })

    test('races with delivery, and exactly one of them succeeds', async () => {
      for (let round = 0; round < times(4, 20); round += 1) {
        const params = await newPass()
        const { id } = await workspace.ok(create, { params, body: { ...text, sendAt: later(1) } })
        const named = { params: { ...params, notificationId: id } }
        const cancelled = workspace.call(cancel, named)
        api.advance(1)
        const [{ status }] = await Promise.all([cancelled, api.runJobs()])
        const found = await workspace.call(get, named)
        expect([status, found.status]).toEqual(status === 204 ? [204, 404] : [409, 200])
        if (found.status === 200) expect(found.body).toMatchObject({ status: 'SKIPPED' })
      }
    })
  })

  describe('the cap of 3 google notifications in 24 hours', () => {
    test('rejects the fourth, with a Retry-After that is exact to the second', async () => {
      const params = await newPass()
      for (let n = 0; n < 3; n += 1) {
        await workspace.ok(create, { params, body: text })
        api.advance(600)
      }
      const answer = await workspace.call(create, { params, body: text })
      expect(answer.status).toBe(429)
      expect(answer.body).toMatchObject({ errorCode: 'PASS_NOTIFICATION_RATE_LIMITED' })
      expect(answer.headers.get('retry-after')).toBe(String(24 * HOUR - 1800))
      const seconds = Number(answer.headers.get('retry-after'))
      const tooSoon = { params, body: { ...text, sendAt: later(seconds - 1) } }
      expect((await workspace.call(create, tooSoon)).headers.get('retry-after')).toBe('1')
      const inTime = { params, body: { ...text, sendAt: later(seconds) } }
      expect((await workspace.call(create, inTime)).status).toBe(201)
    })

    test('counts scheduled notifications, but not Apple-only or cancelled ones', async () => {
      const params = await newPass()
      const scheduled = await workspace.ok(create, { params, body: { ...text, sendAt: later(HOUR) } })
      for (let n = 0; n < 2; n += 1) await workspace.ok(create, { params, body: text })
      expect(await workspace.refused(create, { params, body: text })).toMatchObject({ status: 429 })
      for (let n = 0; n < 5; n += 1) {
        await workspace.ok(create, { params, body: { ...text, platforms: ['apple' as const] } })
      }
      await workspace.call(cancel, { params: { ...params, notificationId: scheduled.id } })
      expect((await workspace.call(create, { params, body: text })).status).toBe(201)
      expect(await workspace.refused(create, { params, body: text })).toMatchObject({ status: 429 })
    })

    test('holds for concurrent requests', async () => {
      const params = await newPass()
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => workspace.call(create, { params, body: text })),
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(17)
    })

    test('does not apply to a repeated idempotency key', async () => {
      const params = await newPass()
      const body = { ...text, idempotencyKey: `capped-${params.id}` }
      const first = await workspace.ok(create, { params, body })
      for (let n = 0; n < 2; n += 1) await workspace.ok(create, { params, body: text })
      const { status, body: known } = await workspace.call(create, { params, body })
      expect([status, (known as { id: string }).id]).toEqual([200, first.id])
    })
  })
})
