import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { MAX_JOB_LAPSES } from '../../../src/core/rules/sending/retries.ts'
import { releaseJobs } from '../../../src/server/background/scheduler.ts'
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import { deliverWebhooks } from '../../../src/server/webhooks/deliver-webhooks.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { issuedPass, makePass, publishedTemplate } from '../fixtures.ts'
import { eventually, gate } from '../jobs/fixtures.ts'
import { makeWebhook, queueTests, sendTest } from './webhook-fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect, { outbound: { allowInsecure: true } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
    await api.database.writer('jobs').delete()
  })

  /** Claims the next job. */
  const claim = () => api.services.store.transaction((tx) => tx.jobs.claim('webhooks', api.now, claimed))

  const waiting = () => api.database.writer('jobs').where({ claim_token: null })

  const countOf = async (status: 'SUCCESS' | 'PENDING') =>
    (await workspace.ok(contract.deliveries.list, { query: { status } })).total

  test('an ended turn sends no more deliveries, and its endpoint queues behind others', async () => {
    useFakeTime()
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.writeHead(500).end()))
    const hanging = await makeWebhook(workspace, receiver)
    await queueTests(workspace, hanging.id, 20)
    const turn = deliverWebhooks(await claim(), api.services)
    await eventually(() => expect(held.waiting()).toBe(8))
    api.advance(1)
    const other = await makeWebhook(workspace, await startReceiver())
    await sendTest(workspace, other.id)
    api.advance(1)
    vi.advanceTimersByTime(10_000)
    held.open()
    await turn
    expect(receiver.received).toHaveLength(8)
    const next = [...(await claim()), ...(await claim())]
    expect(next.map(({ subject }) => subject)).toEqual([other.id, hanging.id])
    receiver.reply(204)
    await deliverWebhooks(next, api.services)
    expect([await countOf('SUCCESS'), await countOf('PENDING')]).toEqual([13, 8])
  })

  test('stops signing when the clock is found to be wrong, and leaves the job for later', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const { id } = await makeWebhook(workspace, receiver)
    await queueTests(workspace, id, 20)
    const jobs = await claim()
    let isOff = false
    const anHourAhead = () => new Date(api.now.getTime() + 3_600_000)
    const turn = deliverWebhooks(jobs, { ...api.services, clock: anHourAhead, isClockOff: () => isOff })
    await eventually(() => expect(held.waiting()).toBe(8))
    isOff = true
    held.open()
    await turn
    expect(receiver.received).toHaveLength(8)
    await deliverWebhooks(await claim(), api.services)
    expect(await countOf('SUCCESS')).toBe(20)
  })

  test('a sender that can stay sends new deliveries at once, without another claim, and leaves no job', async () => {
    useFakeTime()
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const { id } = await makeWebhook(workspace, receiver)
    await sendTest(workspace, id)
    const jobs = await claim()
    const turn = deliverWebhooks(jobs, api.services, { mayStay: () => true, leave: () => undefined })
    await eventually(() => expect(held.waiting()).toBe(1))
    vi.advanceTimersByTime(10_000)
    await sendTest(workspace, id)
    await eventually(() => expect(held.waiting()).toBe(2))
    held.open()
    await eventually(async () => expect(await countOf('SUCCESS')).toBe(2))
    vi.advanceTimersByTime(1_000)
    await turn
    expect([jobs.length, await countOf('SUCCESS'), await waiting()]).toEqual([1, 2, []])
  })

  test('deliveries created while a sender stays are sent once and without a read', async () => {
    const { id } = await makeWebhook(workspace, receiver)
    const pass = await makePass(workspace, (await publishedTemplate(workspace)).id)
    await sendTest(workspace, id)
    const { store } = api.services
    const held = gate()
    let reads = 0
    const listDue: typeof store.deliveries.listDue = async (...request) => {
      reads += 1
      if (reads > 1) await held.pass()
      return store.deliveries.listDue(...request)
    }
    const deliveries = Object.assign(Object.create(store.deliveries), { listDue })
    const services = { ...api.services, store: { ...store, deliveries } }
    const turn = deliverWebhooks(await claim(), services, { mayStay: () => true, leave: () => undefined })
    await eventually(() => expect(receiver.received).toHaveLength(1))
    await sendTest(workspace, id)
    await eventually(() => expect(held.waiting()).toBe(1))
    await workspace.ok(contract.passes.void, { params: { id: pass.id }, body: {} })
    await eventually(() => expect(receiver.received).toHaveLength(2))
    held.open()
    await turn
    const types = receiver.received.map(({ body }) => JSON.parse(body).type)
    expect(types).toEqual(['webhook.test', 'pass.voided', 'webhook.test'])
    expect([await countOf('SUCCESS'), await waiting().where({ kind: 'deliver-webhooks' })]).toEqual([3, []])
    const [sent] = (await workspace.ok(contract.deliveries.list, { query: { eventType: 'pass.voided' } })).items
    const payload = await store.deliveries.findPayload(workspace.id, sent!.id)
    expect(receiver.received[1]!.body).toBe(payload)
  })

  test('deliveries read before their commit was announced are sent once', async () => {
    const { id } = await makeWebhook(workspace, receiver)
    await sendTest(workspace, id)
    const { store, wakeUps } = api.services
    const webhook = (await store.webhooks.findToSend(workspace.id, id))!
    const made = await store.deliveries.listDue(workspace.id, webhook, { at: api.now, limit: 10, underWay: [] })
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const turn = deliverWebhooks(await claim(), api.services)
    await eventually(() => expect(held.waiting()).toBe(1))
    wakeUps.merge({ what: 'deliveries', webhookId: id, made })
    await sendTest(workspace, id)
    await eventually(() => expect(held.waiting()).toBeGreaterThan(1))
    held.open()
    await turn
    expect([made.length, receiver.received.length, await countOf('SUCCESS')]).toEqual([1, 2, 2])
  })

  test('few jobs wait for a hanging endpoint, regardless of its events, and all are sent later', async () => {
    useFakeTime('setInterval', 'clearInterval')
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const { id } = await makeWebhook(workspace, receiver)
    await queueTests(workspace, id, 8)
    const turn = deliverWebhooks(await claim(), api.services)
    await eventually(() => expect(held.waiting()).toBe(8))
    await queueTests(workspace, id, 5)
    expect(await waiting()).toHaveLength(1)
    vi.advanceTimersByTime(4_000)
    await eventually(async () => expect(await waiting()).toEqual([]))
    held.open()
    await turn
    expect(await countOf('SUCCESS')).toBe(13)
    expect(await waiting()).toEqual([])
  })

  test('a sender that crashes repeatedly after making progress is not quarantined', async () => {
    const held = gate()
    const { id } = await makeWebhook(workspace, receiver)
    const turns: Promise<void>[] = []
    const crashes = MAX_JOB_LAPSES + 1
    for (let crash = 1; crash <= crashes; crash += 1) {
      await queueTests(workspace, id, 2)
      receiver.reply(204, (response) => held.pass().then(() => void response.writeHead(204).end()))
      const queue = crash === 1 ? 'webhooks' : 'quarantine'
      const jobs = await api.services.store.transaction((tx) => tx.jobs.claim(queue, api.now, claimed))
      const crashing = new AbortController()
      turns.push(deliverWebhooks(jobs, { ...api.services, stopping: crashing.signal }))
      await eventually(async () => expect(await countOf('SUCCESS')).toBe(crash))
      crashing.abort()
      api.advance(claimed.leaseSeconds)
      // Rows that the sender is still writing are skipped.
      await eventually(async () => {
        await releaseJobs(api.services)
        const lapsed = await api.database.writer('jobs').where({ id: jobs[0]!.id }).first('lapses', 'failed_at')
        expect(lapsed).toEqual({ lapses: 1, failed_at: null })
      })
    }
    held.open()
    await Promise.all(turns)
    // The results of the killed sender were not recorded, so its deliveries are sent again.
    receiver.reply(204)
    await api.runJobs()
    expect([await countOf('SUCCESS'), await waiting()]).toEqual([2 * crashes, []])
  })

  test('deliveries already read are not sent once their holder is erased', async () => {
    useFakeTime()
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.writeHead(204).end()))
    // The events of the erasure itself are delivered.
    const webhook = await makeWebhook(workspace, receiver, 'pass.updated')
    const { id, externalPassId } = await issuedPass(workspace)
    await api.runJobs()
    const data = { id, externalPassId, reason: 'Ada wished so' }
    const event = { type: 'pass.voided' as const, subject: id, data, correlationId: null }
    const { store } = api.services
    await store.transaction(async (tx) => {
      for (let n = 0; n < 12; n += 1)
        await tx.events.insertFor(workspace.id, { ...webhook, generation: 1 }, event, api.now)
    })
    const turn = deliverWebhooks(await claim(), api.services)
    await eventually(() => expect(held.waiting()).toBe(8))
    await erasePass({ store, database: api.database }, workspace.id, id, api.now)
    // The sender reads the endpoint again after some time.
    vi.advanceTimersByTime(100)
    held.open()
    await turn
    expect(receiver.received).toHaveLength(8)
    expect(await countOf('PENDING')).toBe(0)
  })

  test('an endpoint that cannot be read again ends the turn after deliveries in flight, each written once', async () => {
    useFakeTime()
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.writeHead(204).end()))
    const { id } = await makeWebhook(workspace, receiver)
    await queueTests(workspace, id, 9)
    const { store } = api.services
    let looks = 0
    const find = async () => {
      looks += 1
      throw new Error('not to be had')
    }
    const webhooks = Object.assign(Object.create(store.webhooks), { find })
    const jobs = await claim()
    const turn = deliverWebhooks(jobs, { ...api.services, store: { ...store, webhooks } })
    const failed = expect(turn).rejects.toThrow('not to be had')
    await eventually(() => expect(held.waiting()).toBe(8))
    vi.advanceTimersByTime(100)
    // One response frees a place. The sender reads the endpoint before it sends the next delivery.
    receiver.reply(204)
    await sendTest(workspace, id)
    held.open()
    await eventually(() => expect(looks).toBe(1))
    await failed
    expect([receiver.received.length, await countOf('SUCCESS')]).toEqual([8, 8])
    await deliverWebhooks(jobs, api.services)
    expect([receiver.received.length, await countOf('SUCCESS')]).toEqual([10, 10])
  })

  test('a failing endpoint does not end the turns of others, whose jobs stay claimed', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.writeHead(204).end()))
    const hanging = await makeWebhook(workspace, receiver)
    await sendTest(workspace, hanging.id)
    const failing = await makeWebhook(workspace, receiver)
    await sendTest(workspace, failing.id)
    const { store } = api.services
    let failures = 0
    const findToSend: typeof store.webhooks.findToSend = async (workspaceId, id) => {
      if (id !== failing.id) return store.webhooks.findToSend(workspaceId, id)
      failures += 1
      throw new Error('not to be had')
    }
    const webhooks = Object.assign(Object.create(store.webhooks), { findToSend })
    const jobs = await store.transaction((tx) => tx.jobs.claim('webhooks', api.now, { ...claimed, limit: 2 }))
    const turns = deliverWebhooks(jobs, { ...api.services, store: { ...store, webhooks } })
    const sentAtEnd = turns.then(
      () => 'no error',
      () => countOf('SUCCESS'),
    )
    await eventually(() => expect([held.waiting(), failures]).toEqual([1, 1]))
    held.open()
    expect(await sentAtEnd).toBe(1)
  })

  test('an endpoint whose secret cannot be decrypted leaves no subscription behind', async () => {
    const { id } = await makeWebhook(workspace, receiver)
    await sendTest(workspace, id)
    const { webhookSecrets, wakeUps } = api.services
    let listening = 0
    const subscribe: typeof wakeUps.subscribe = (subject, wake) => {
      const unsubscribe = wakeUps.subscribe(subject, wake)
      listening += 1
      return () => {
        listening -= 1
        unsubscribe()
      }
    }
    const livingKeys = () => {
      throw new Error('sealed by another key')
    }
    const services = {
      ...api.services,
      wakeUps: { ...wakeUps, subscribe },
      webhookSecrets: { ...webhookSecrets, livingKeys },
    }
    await expect(deliverWebhooks(await claim(), services)).rejects.toThrow('sealed by another key')
    expect(listening).toBe(0)
  })

  test('a failed job releases its endpoint for the retry', async () => {
    const { id } = await makeWebhook(workspace, receiver)
    await sendTest(workspace, id)
    const { store } = api.services
    const unreadable = async () => {
      throw new Error('no such thing')
    }
    const deliveries = Object.assign(Object.create(store.deliveries), { listDue: unreadable })
    const services = { ...api.services, store: { ...store, deliveries } }
    const jobs = await claim()
    for (const _ of [1, 2]) await expect(deliverWebhooks(jobs, services)).rejects.toThrow('no such thing')
    await deliverWebhooks(jobs, api.services)
    expect(await countOf('SUCCESS')).toBe(1)
  })
})

const claimed = { limit: 1, leaseSeconds: 60 }

/** Uses fake time for the timers of a turn. The network, and the renewal of a lease unless named, use real time. */
function useFakeTime(...others: ('setInterval' | 'clearInterval')[]): void {
  vi.useFakeTimers({ toFake: ['performance', ...others] })
  onTestFinished(() => void vi.useRealTimers())
}
