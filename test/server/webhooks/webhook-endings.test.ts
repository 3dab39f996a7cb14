import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { noteHealth } from '../../../src/server/webhooks/attempts.ts'
import type { CompletedAttempt } from '../../../src/storage/webhooks/delivery-row.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { issuedPass } from '../fixtures.ts'
import { makeWebhook, readDelivery, sendTest } from './webhook-fixtures.ts'

const HOUR = 3600
const DAY = 24 * HOUR

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect, { outbound: { allowInsecure: true } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
  })

  test('410 Gone disables the endpoint with a reason, and its pending deliveries are FAILED', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500, 410)
    const waiting = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const refused = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const { status, disabledReason } = await workspace.ok(contract.webhooks.get, { params: { id: webhook.id } })
    expect([status, disabledReason]).toEqual(['DISABLED', 'The endpoint returned 410 Gone.'])
    for (const { id } of [waiting, refused]) {
      expect(await readDelivery(workspace, id)).toMatchObject({ status: 'FAILED', nextAttemptAt: null })
    }
    await issuedPass(workspace)
    api.advance(DAY)
    await api.runJobs()
    expect(receiver.received).toHaveLength(2)
  })

  test('five days without a success disable the endpoint; one success restarts them', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const statusAfter = async (seconds: number, reply: number) => {
      api.advance(seconds)
      receiver.reply(reply)
      await sendTest(workspace, webhook.id)
      await api.runJobs()
      return (await workspace.ok(contract.webhooks.get, { params: { id: webhook.id } })).status
    }
    expect(await statusAfter(0, 500)).toBe('ENABLED')
    expect(await statusAfter(4 * DAY, 200)).toBe('ENABLED')
    expect(await statusAfter(2 * DAY, 500)).toBe('ENABLED')
    expect(await statusAfter(5 * DAY - 1, 500)).toBe('ENABLED')
    expect(await statusAfter(1, 500)).toBe('DISABLED')
    const { disabledReason } = await workspace.ok(contract.webhooks.get, { params: { id: webhook.id } })
    expect(disabledReason).toBe('No attempt succeeded for 5 days.')
  })

  test('every one of several attempts written together counts for the health of the endpoint', async () => {
    const { store } = api.services
    const note = async (...outcomes: { responseCode: number; error: string | null }[]) => {
      const { id } = await makeWebhook(workspace, receiver)
      return store.transaction(async (tx) => {
        await tx.webhooks.setFailingSince(workspace.id, id, api.now)
        const webhook = (await tx.webhooks.findForUpdate(workspace.id, id))!
        const made = outcomes.map((outcome) => ({ outcome, at: api.now }) as CompletedAttempt)
        await noteHealth(tx, webhook, made, api.now)
        const { status, failingSince } = (await tx.webhooks.find(workspace.id, id))!
        return { status, failingSince }
      })
    }
    const failed = { responseCode: 500, error: 'Responded with 500.' }
    const taken = { responseCode: 204, error: null }
    const gone = { responseCode: 410, error: 'Responded with 410.' }
    expect(await note(failed)).toEqual({ status: 'ENABLED', failingSince: api.now })
    expect(await note(taken, failed)).toEqual({ status: 'ENABLED', failingSince: null })
    expect(await note(gone, failed)).toMatchObject({ status: 'DISABLED' })
  })

  test('an endpoint that is enabled again gets later events only', async () => {
    const webhook = await makeWebhook(workspace, receiver, 'pass.issued')
    const params = { id: webhook.id }
    receiver.reply(500)
    const before = await sendTest(workspace, webhook.id)
    await api.runJobs()
    await workspace.ok(contract.webhooks.disable, { params })
    expect(await readDelivery(workspace, before.id)).toMatchObject({ status: 'FAILED', nextAttemptAt: null })
    await issuedPass(workspace)
    await workspace.ok(contract.webhooks.enable, { params })
    receiver.reply(200)
    api.advance(DAY)
    const pass = await issuedPass(workspace)
    await api.runJobs()
    expect(receiver.received.slice(1).map(({ envelope }) => envelope.data.id)).toEqual([pass.id])
  })

  test('a deleted endpoint gets nothing, and its deliveries stay readable', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const { id } = await sendTest(workspace, webhook.id)
    await workspace.ok(contract.webhooks.delete, { params: { id: webhook.id } })
    await api.runJobs()
    expect(receiver.received).toEqual([])
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'FAILED', webhookId: webhook.id })
    const rejection = await workspace.refused(contract.deliveries.redeliver, { params: { id } })
    expect(rejection).toMatchObject({ status: 409, errorCode: 'CONFLICT' })
  })

  test('a disabled endpoint rejects a test and a redelivery', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const params = { id: webhook.id }
    const { id } = await sendTest(workspace, webhook.id)
    await workspace.ok(contract.webhooks.disable, { params })
    expect(await workspace.refused(contract.webhooks.test, { params })).toMatchObject({ status: 409 })
    expect(await workspace.refused(contract.deliveries.redeliver, { params: { id } })).toMatchObject({ status: 409 })
    await api.runJobs()
    expect(receiver.received).toEqual([])
  })

  test('deliveries beyond one chunk end with their endpoint, and one enabled at once gets none', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const event = {
      type: 'webhook.test',
      subject: webhook.id,
      data: { webhookId: webhook.id },
      correlationId: null,
    } as const
    const { store } = api.services
    const { eventId } = await store.transaction((tx) =>
      tx.events.insertFor(workspace.id, { id: webhook.id, generation: 1 }, event, api.now),
    )
    const pair = { event: { id: eventId, type: event.type }, target: { id: webhook.id, generation: 1 } }
    const pairs = Array.from({ length: 2_500 }, () => pair)
    await store.transaction((tx) => tx.deliveries.insert(workspace.id, pairs, api.now))
    for (const change of [contract.webhooks.disable, contract.webhooks.enable]) {
      await workspace.ok(change, { params: { id: webhook.id } })
    }
    await api.runJobs()
    expect(receiver.received).toEqual([])
    const { total } = await workspace.ok(contract.deliveries.list, { query: { status: 'FAILED' } })
    expect(total).toBe(2_501)
  })

  test('redirects are not followed', async () => {
    const [webhook, elsewhere] = [await makeWebhook(workspace, receiver), await startReceiver()]
    receiver.reply((response) => void response.writeHead(307, { location: elsewhere.url }).end())
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({ lastResponseCode: 307, lastError: 'Responded with 307.' })
    expect(elsewhere.received).toEqual([])
  })

  test('the error of a refused connection explains that no server listens', async () => {
    const body = { url: 'http://127.0.0.1:9/', events: ['pass.voided' as const] }
    const webhook = await workspace.ok(contract.webhooks.create, { body })
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({
      status: 'PENDING',
      attemptCount: 1,
      lastResponseCode: null,
      lastError: 'The connection was refused.',
    })
  })
})
