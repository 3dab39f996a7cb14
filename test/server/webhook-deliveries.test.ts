import { execFileSync } from 'node:child_process'
import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import { RETRY_SECONDS } from '../../src/core/rules/delivery.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { dialects } from '../support/databases.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { issuedPass } from './fixtures.ts'
import { isSigned, makeWebhook, readDelivery, redeliver, sendTest } from './webhook-fixtures.ts'

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

  /** To the time of the next attempt, which is then made. */
  const nextAttempt = async (id: string): Promise<number> => {
    const { nextAttemptAt } = await readDelivery(workspace, id)
    const seconds = (Date.parse(nextAttemptAt!) - api.now.getTime()) / 1000
    api.advance(seconds)
    await api.runJobs()
    return seconds
  }

  test('an endpoint that fails twice and then answers gets one id three times, with fresh signatures of the same bytes', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500, 503, 200)
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const times = [api.now]
    for (let retry = 0; retry < 2; retry += 1) {
      await nextAttempt(id)
      times.push(api.now)
    }
    expect(receiver.received.map(({ envelope }) => envelope.id)).toEqual([id, id, id])
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    expect(new Set(receiver.received.map(({ signature }) => signature)).size).toBe(3)
    receiver.received.forEach((received, index) => {
      expect(isSigned(received, webhook.secret, times[index]!)).toBe(true)
      expect(received.signature).toMatch(`t=${Math.floor(times[index]!.getTime() / 1000)},`)
    })
    const delivery = await readDelivery(workspace, id)
    expect(delivery).toMatchObject({ status: 'SUCCESS', attemptCount: 3, lastResponseCode: 200, lastError: null })
    expect(delivery.nextAttemptAt).toBeNull()
    expect(delivery.attempts.map(({ responseCode }) => responseCode)).toEqual([500, 503, 200])
    expect(delivery.attempts.map(({ error }) => error)).toEqual(['Answered 500.', 'Answered 503.', null])
    expect(delivery.attempts.map(({ at }) => at)).toEqual(times.map((time) => time.toISOString()))
    expect(JSON.stringify(delivery.payload)).toBe(receiver.received[0]!.body)
  })

  test('attempts follow the published table, and behind the last the delivery is FAILED', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    for (const planned of RETRY_SECONDS) {
      expect(await readDelivery(workspace, id)).toMatchObject({ status: 'PENDING' })
      const waited = await nextAttempt(id)
      expect(waited).toBeGreaterThanOrEqual(planned)
      expect(waited).toBeLessThanOrEqual(planned * 1.1)
    }
    expect(receiver.received).toHaveLength(10)
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'FAILED', attemptCount: 10, nextAttemptAt: null })
    api.advance(DAY)
    await api.runJobs()
    expect(receiver.received).toHaveLength(10)
  })

  test('nothing is sent before it is due', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    await sendTest(workspace, webhook.id)
    await api.runJobs()
    api.advance(4.9)
    await api.runJobs()
    expect(receiver.received).toHaveLength(1)
  })

  test('new events are sent at once while earlier ones wait for their retry', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500, 200)
    const first = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const second = await sendTest(workspace, webhook.id)
    await api.runJobs()
    expect(receiver.received.map(({ envelope }) => envelope.id)).toEqual([first.id, second.id])
    expect(await readDelivery(workspace, first.id)).toMatchObject({ status: 'PENDING', attemptCount: 1 })
    await nextAttempt(first.id)
    expect(await readDelivery(workspace, first.id)).toMatchObject({ status: 'SUCCESS', attemptCount: 2 })
  })

  test('however many events fail, one job waits for each endpoint', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    for (let count = 0; count < 5; count += 1) {
      await sendTest(workspace, webhook.id)
      await api.runJobs()
    }
    expect(await api.database.writer('jobs').where({ subject: webhook.id })).toHaveLength(1)
  })

  test('a redelivery after FAILED sends the same id once more, whatever comes of it', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    for (const _ of RETRY_SECONDS) await nextAttempt(id)
    expect(await redeliver(workspace, id)).toMatchObject({ id, status: 'PENDING', attemptCount: 10 })
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'FAILED', attemptCount: 11, nextAttemptAt: null })
    receiver.reply(200)
    await redeliver(workspace, id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'SUCCESS', attemptCount: 12 })
    await redeliver(workspace, id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'SUCCESS', attemptCount: 13 })
    expect(receiver.received).toHaveLength(13)
    expect(isSigned(receiver.received[12]!, webhook.secret, api.now)).toBe(true)
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
  })

  test('a redelivery takes no attempt of the table away', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const { nextAttemptAt } = await readDelivery(workspace, id)
    await redeliver(workspace, id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'PENDING', attemptCount: 2, nextAttemptAt })
  })

  test('while a secret is rotated both verify, and after 24 hours only the new one', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const rotated = await workspace.ok(contract.webhooks.rotateSecret, { params: { id: webhook.id } })
    expect(rotated.secret).not.toBe(webhook.secret)
    const deliver = async (): Promise<Received> => {
      await sendTest(workspace, webhook.id)
      await api.runJobs()
      return receiver.received.at(-1)!
    }
    const during = await deliver()
    expect(during.signature).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
    for (const { secret } of [webhook, rotated]) expect(isSigned(during, secret, api.now)).toBe(true)
    api.advance(DAY - 1)
    expect(isSigned(await deliver(), webhook.secret, api.now)).toBe(true)
    api.advance(1)
    const after = await deliver()
    expect(after.signature).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/)
    expect([isSigned(after, webhook.secret, api.now), isSigned(after, rotated.secret, api.now)]).toEqual([false, true])
  })

  test('openssl finds the same signature', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    await sendTest(workspace, webhook.id)
    await api.runJobs()
    const { signature, body } = receiver.received[0]!
    const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(signature)!
    const args = ['dgst', '-sha256', '-hmac', webhook.secret]
    expect(execFileSync('openssl', args, { input: `${t}.${body}` }).toString()).toContain(v1)
  })

  test('410 Gone disables the endpoint with a reason, and what waits for it is FAILED', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500, 410)
    const waiting = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const refused = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const { status, disabledReason } = await workspace.ok(contract.webhooks.get, { params: { id: webhook.id } })
    expect([status, disabledReason]).toEqual(['DISABLED', 'It answered 410 Gone.'])
    for (const { id } of [waiting, refused]) {
      expect(await readDelivery(workspace, id)).toMatchObject({ status: 'FAILED', nextAttemptAt: null })
    }
    await issuedPass(workspace)
    api.advance(DAY)
    await api.runJobs()
    expect(receiver.received).toHaveLength(2)
  })

  test('five days without one success disable the endpoint; one success in between starts them anew', async () => {
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

  test('an endpoint that is enabled again gets what happens from then on, and nothing of before', async () => {
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
    const refusal = await workspace.refused(contract.deliveries.redeliver, { params: { id } })
    expect(refusal).toMatchObject({ status: 409, errorCode: 'CONFLICT' })
  })

  test('a disabled endpoint takes neither a test nor a redelivery', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const params = { id: webhook.id }
    const { id } = await sendTest(workspace, webhook.id)
    await workspace.ok(contract.webhooks.disable, { params })
    expect(await workspace.refused(contract.webhooks.test, { params })).toMatchObject({ status: 409 })
    expect(await workspace.refused(contract.deliveries.redeliver, { params: { id } })).toMatchObject({ status: 409 })
    await api.runJobs()
    expect(receiver.received).toEqual([])
  })

  test('more deliveries than are ended at once end with their endpoint, and one that is enabled at once gets none', async () => {
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
    expect(await readDelivery(workspace, id)).toMatchObject({ lastResponseCode: 307, lastError: 'Answered 307.' })
    expect(elsewhere.received).toEqual([])
  })

  test('an endpoint that nobody listens at fails with words that say so', async () => {
    const body = { url: 'http://127.0.0.1:9/', events: ['pass.voided' as const] }
    const webhook = await workspace.ok(contract.webhooks.create, { body })
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({
      ...{ status: 'PENDING', attemptCount: 1, lastResponseCode: null },
      lastError: 'The connection was refused.',
    })
  })
})
