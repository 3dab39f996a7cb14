import { execFileSync } from 'node:child_process'
import { beforeEach, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { RETRY_SECONDS } from '../../../src/core/rules/sending/retries.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { type Received, type Receiver, startReceiver } from '../../support/receiver.ts'
import { isSigned, makeWebhook, readDelivery, redeliver, sendTest } from './webhook-fixtures.ts'

const HOUR = 3600
const DAY = 24 * HOUR

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect, { outbound: { allowInsecure: true } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
  })

  /** Advances the clock to the next attempt, and waits until it is made. */
  const nextAttempt = async (id: string): Promise<number> => {
    const { nextAttemptAt } = await readDelivery(workspace, id)
    const seconds = (Date.parse(nextAttemptAt!) - api.now.getTime()) / 1000
    api.advance(seconds)
    await api.runJobs()
    return seconds
  }

  test('an endpoint that fails twice gets one ID three times, with fresh signatures of the same bytes', async () => {
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
    expect(delivery.attempts.map(({ error }) => error)).toEqual(['Responded with 500.', 'Responded with 503.', null])
    expect(delivery.attempts.map(({ at }) => at)).toEqual(times.map((time) => time.toISOString()))
    expect(JSON.stringify(delivery.payload)).toBe(receiver.received[0]!.body)
  })

  test('attempts follow the published table, and after the last one the delivery is FAILED', async () => {
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

  test('sends nothing before it is due', async () => {
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

  test('any number of failing events leaves one job per endpoint', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    for (let count = 0; count < 5; count += 1) {
      await sendTest(workspace, webhook.id)
      await api.runJobs()
    }
    expect(await api.database.writer('jobs').where({ subject: webhook.id })).toHaveLength(1)
  })

  test('a redelivery after FAILED sends the same ID again, for any result', async () => {
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

  test('a redelivery uses no scheduled attempt', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    const { id } = await sendTest(workspace, webhook.id)
    await api.runJobs()
    const { nextAttemptAt } = await readDelivery(workspace, id)
    await redeliver(workspace, id)
    await api.runJobs()
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'PENDING', attemptCount: 2, nextAttemptAt })
  })

  test('after a rotation both secrets verify for 24 hours, then only the new one', async () => {
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

  test('every secret signs for 24 hours after its rotation, newest first, regardless of the number', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    const secrets = [webhook.secret]
    for (let n = 0; n < 3; n += 1) {
      api.advance(8 * 3600)
      secrets.unshift((await workspace.ok(contract.webhooks.rotateSecret, { params: { id: webhook.id } })).secret)
    }
    const verified = async () => {
      await sendTest(workspace, webhook.id)
      await api.runJobs()
      const { signature, ...received } = receiver.received.at(-1)!
      const [time, ...signatures] = signature.split(',')
      return signatures.map((one) =>
        secrets.findIndex((secret) => isSigned({ ...received, signature: `${time},${one}` }, secret, api.now)),
      )
    }
    expect(await verified()).toEqual([0, 1, 2, 3])
    api.advance(8 * 3600)
    expect(await verified()).toEqual([0, 1, 2])
    api.advance(16 * 3600)
    expect(await verified()).toEqual([0])
  })

  test('at most ten earlier secrets sign at once; another rotation waits until the oldest ends', async () => {
    const { id } = await makeWebhook(workspace, receiver)
    const rotate = () => workspace.call(contract.webhooks.rotateSecret, { params: { id } })
    for (let n = 0; n < 10; n += 1) expect((await rotate()).status).toBe(200)
    const refused = await rotate()
    expect(refused).toMatchObject({ status: 429, body: { errorCode: 'TOO_MANY_REQUESTS', details: { allowed: 10 } } })
    expect(refused.headers.get('retry-after')).toBe(String(DAY))
    api.advance(DAY)
    expect((await rotate()).status).toBe(200)
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
})
