import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { subscribableEvents } from '../../../src/core/events.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'

const url = 'https://hooks.example/passes?key=1'
const events = ['pass.issued', 'pass.voided'] as const

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace

  beforeEach(async () => {
    workspace = await api.workspace()
  })

  const create = (fields: object = {}) =>
    workspace.ok(contract.webhooks.create, { body: { url, events: [...events], ...fields } })

  test('a webhook is created enabled, with its secret in this response only', async () => {
    const { secret, ...shown } = await create({ description: 'CRM' })
    expect(secret).toMatch(/^whsec_[\w-]{43}$/)
    expect(shown).toMatchObject({ url, events, description: 'CRM', status: 'ENABLED', disabledReason: null })
    const params = { id: shown.id }
    expect(await workspace.ok(contract.webhooks.get, { params })).toEqual(shown)
    expect((await workspace.ok(contract.webhooks.list, {})).items).toEqual([shown])
    for (const operation of ['update', 'disable', 'enable'] as const) {
      const body = { body: { description: 'x' } }
      const call = { params, ...(operation === 'update' && body) } as never
      expect(await workspace.ok(contract.webhooks[operation], call)).not.toHaveProperty('secret')
    }
  })

  test('no table holds a secret as it was shown', async () => {
    const { id, secret } = await create()
    const rotated = await workspace.ok(contract.webhooks.rotateSecret, { params: { id } })
    await workspace.ok(contract.webhooks.test, { params: { id } })
    await api.runJobs()
    const db = api.database.writer
    const tables = ['webhooks', 'webhook_deliveries', 'webhook_attempts', 'events', 'jobs', 'settings']
    const written = JSON.stringify(await Promise.all(tables.map((table) => db(table))))
    for (const one of [secret, rotated.secret]) {
      for (const form of [one, one.slice(6), Buffer.from(one).toString('base64'), Buffer.from(one).toString('hex')]) {
        expect(written).not.toContain(form)
      }
    }
  })

  test('subscribes to each event once, except the test event', async () => {
    const { events: subscribed } = await create({ events: [...subscribableEvents, 'pass.issued'].slice(1) })
    expect([...subscribed].sort()).toEqual([...subscribableEvents].sort())
    for (const wrong of [[], ['webhook.test'], ['pass.exploded'], 'pass.issued']) {
      const rejection = await workspace.refused(contract.webhooks.create, { body: { url, events: wrong as never } })
      expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    }
  })

  test.each([
    ['plain http', 'http://hooks.example/'],
    ['another scheme', 'ftp://hooks.example/'],
    ['no scheme', 'hooks.example/passes'],
    ['credentials', 'https://user:secret@hooks.example/'],
    ['a user', 'https://user@hooks.example/'],
    ['a fragment', 'https://hooks.example/#top'],
    ['an empty fragment', 'https://hooks.example/#'],
    ['a space', 'https://hooks.example/a b'],
    ['no host', 'https://'],
    ['an invalid port', 'https://hooks.example:99999/'],
    ['a private address', 'https://10.0.0.1/'],
    ["the server's own host", 'https://localhost/'],
    ['an obfuscated address', 'https://2130706433/'],
  ])('rejects an address with %s, in a create and in an update', async (_, wrong) => {
    const problem = { status: 400, errorCode: 'VALIDATION_ERROR', details: { issues: [{ path: ['url'] }] } }
    const body = { url: wrong, events: [...events] }
    expect(await workspace.refused(contract.webhooks.create, { body })).toMatchObject(problem)
    const { id } = await create()
    const change = { params: { id }, body: { url: wrong } }
    expect(await workspace.refused(contract.webhooks.update, change)).toMatchObject(problem)
  })

  test('an update changes only the given fields', async () => {
    const { id } = await create({ description: 'CRM' })
    api.advance(1)
    const body = { events: ['pass.failed' as const] }
    const changed = await workspace.ok(contract.webhooks.update, { params: { id }, body })
    expect(changed).toMatchObject({ url, events: ['pass.failed'], description: 'CRM' })
    expect(changed.updatedAt).toBe(api.now.toISOString())
    const rejection = await workspace.refused(contract.webhooks.update, { params: { id }, body: {} })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'MISSING_REQUIRED_FIELD' })
  })

  test('status and reason distinguish disabling and enabling, and repeating either changes nothing', async () => {
    const { id } = await create()
    const params = { id }
    const disabled = await workspace.ok(contract.webhooks.disable, { params })
    expect(disabled).toMatchObject({ status: 'DISABLED', disabledReason: 'An owner disabled the webhook.' })
    api.advance(1)
    expect(await workspace.ok(contract.webhooks.disable, { params })).toEqual(disabled)
    const enabled = await workspace.ok(contract.webhooks.enable, { params })
    expect(enabled).toMatchObject({ status: 'ENABLED', disabledReason: null })
    api.advance(1)
    expect(await workspace.ok(contract.webhooks.enable, { params })).toEqual(enabled)
  })

  test('a deleted webhook responds 404', async () => {
    const { id } = await create()
    await workspace.ok(contract.webhooks.delete, { params: { id } })
    for (const operation of ['get', 'delete', 'enable', 'test', 'rotateSecret', 'listDeliveries'] as const) {
      const rejection = await workspace.refused(contract.webhooks[operation], { params: { id } })
      expect(rejection, operation).toMatchObject({ status: 404, errorCode: 'WEBHOOK_NOT_FOUND' })
    }
  })

  test('members can list deliveries and redeliver, but not manage webhooks', async () => {
    const { id } = await create()
    const delivery = await workspace.ok(contract.webhooks.test, { params: { id } })
    const member = { authorization: `Bearer ${await api.token(workspace.id, { role: 'member' })}` }
    const status = async (method: string, path: string) => (await api.send(method, path, { headers: member })).status
    expect(await status('GET', '/v1/webhooks/deliveries')).toBe(200)
    expect(await status('GET', `/v1/webhooks/${id}/deliveries`)).toBe(200)
    expect(await status('GET', `/v1/webhooks/deliveries/${delivery.id}`)).toBe(200)
    expect(await status('POST', `/v1/webhooks/deliveries/${delivery.id}/redeliver`)).toBe(202)
    expect(await status('GET', '/v1/webhooks')).toBe(403)
    expect(await status('POST', `/v1/webhooks/${id}/test`)).toBe(403)
  })

  test('deliveries are listed newest first, by webhook, event and status', async () => {
    const [one, other] = [await create(), await create()]
    const made = []
    for (const { id } of [one, other, one]) {
      made.unshift(await workspace.ok(contract.webhooks.test, { params: { id } }))
      api.advance(1)
    }
    const idsOf = async (query: object) =>
      (await workspace.ok(contract.deliveries.list, { query })).items.map(({ id }) => id)
    const ids = made.map(({ id }) => id)
    expect(await idsOf({})).toEqual(ids)
    expect(await idsOf({ sortDir: 'asc' })).toEqual([...ids].reverse())
    expect(await idsOf({ webhookId: one.id })).toEqual([ids[0], ids[2]])
    expect(await idsOf({ webhookId: [one.id, other.id], eventType: 'webhook.test' })).toEqual(ids)
    expect(await idsOf({ eventType: 'pass.issued' })).toEqual([])
    await workspace.ok(contract.webhooks.disable, { params: { id: other.id } })
    expect(await idsOf({ status: 'FAILED' })).toEqual([ids[1]])
    await api.database.writer('webhook_deliveries').where({ id: ids[2] }).update({ last_error: 'HTTP 500' })
    expect(await idsOf({ lastAttempt: 'failed' })).toEqual([ids[1], ids[2]])
    expect(await idsOf({ lastAttempt: 'failed', status: ['PENDING', 'SUCCESS'], webhookId: one.id })).toEqual([ids[2]])
    expect(await idsOf({ status: ['FAILED', 'PENDING'], webhookId: one.id })).toEqual([ids[0], ids[2]])
    const own = await workspace.ok(contract.webhooks.listDeliveries, { params: { id: one.id }, query: { limit: 1 } })
    expect(own).toMatchObject({ items: [{ id: ids[0] }], total: 2, hasMore: true })
    const query = { limit: 1, cursor: own.nextCursor! }
    const rest = await workspace.ok(contract.webhooks.listDeliveries, { params: { id: one.id }, query })
    expect(rest).toMatchObject({ items: [{ id: ids[2] }], total: 2, hasMore: false })
  })

  test('a delivery shows the time of its next attempt', async () => {
    const { id } = await create()
    const delivery = await workspace.ok(contract.webhooks.test, { params: { id } })
    expect(delivery).toMatchObject({
      webhookId: id,
      eventType: 'webhook.test',
      status: 'PENDING',
      attemptCount: 0,
      lastResponseCode: null,
      lastError: null,
      nextAttemptAt: api.now.toISOString(),
    })
    expect(await workspace.ok(contract.deliveries.get, { params: { id: delivery.id } })).toMatchObject({ attempts: [] })
  })
})
