import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { jobHandlers, onDiscard, queueOptions } from '../../../src/server/background/job-handlers.ts'
import type { Services } from '../../../src/server/context.ts'
import { startWorker } from '../../../src/server/jobs/worker.ts'
import { Deliveries } from '../../../src/storage/webhooks/deliveries-repository.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { eventually, gate } from '../jobs/fixtures.ts'
import { makeWebhook, queueTests, readDelivery, sendTest } from './webhook-fixtures.ts'

describe.each(dialects)('on %s', (dialect) => {
  // Hanging requests stay open until the test releases them, regardless of the speed of the machine.
  const api = useApi(dialect, { outbound: { allowInsecure: true, timeoutMs: 600_000 } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
  })

  /** Starts a worker, and stops it after the test. */
  const work = (services: Partial<Services> = {}) => {
    const options = { handlers: jobHandlers, onDiscard, queues: queueOptions, pollSeconds: 0.05 }
    const worker = startWorker({ ...api.services, ...services }, options)
    onTestFinished(() => worker.stop())
    return worker
  }

  test('hanging endpoints delay no other endpoint', async () => {
    const held = gate()
    const hanging = await Promise.all(Array.from({ length: 20 }, () => startReceiver()))
    for (const one of hanging) {
      one.reply((response) => held.pass().then(() => void response.end()))
      const { id } = await makeWebhook(workspace, one)
      await queueTests(workspace, id, 10)
    }
    work()
    await eventually(() => expect(held.waiting()).toBe(20 * 8))
    const webhook = await makeWebhook(workspace, receiver)
    const { id } = await sendTest(workspace, webhook.id)
    await eventually(async () => expect(await readDelivery(workspace, id)).toMatchObject({ status: 'SUCCESS' }))
    expect(held.waiting()).toBe(20 * 8)
    held.open()
  })

  test('a hanging request delays no other event of its endpoint', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()), 204)
    const webhook = await makeWebhook(workspace, receiver)
    work()
    const first = await sendTest(workspace, webhook.id)
    await eventually(() => expect(held.waiting()).toBe(1))
    const second = await sendTest(workspace, webhook.id)
    await eventually(async () => expect(await readDelivery(workspace, second.id)).toMatchObject({ status: 'SUCCESS' }))
    expect(await readDelivery(workspace, first.id)).toMatchObject({ status: 'PENDING', attemptCount: 0 })
    held.open()
  })

  test('several servers together have at most eight requests in flight to an endpoint', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply((response) => void setTimeout(() => response.end(), 5))
    await queueTests(workspace, webhook.id, 100)
    for (let server = 0; server < 3; server += 1) work()
    await eventually(async () => {
      const { total } = await workspace.ok(contract.deliveries.list, { query: { status: 'SUCCESS' } })
      expect(total).toBe(100)
    })
    expect(receiver.mostInFlight()).toBeGreaterThan(1)
    expect(receiver.mostInFlight()).toBeLessThanOrEqual(8)
    expect(receiver.received).toHaveLength(100)
  })

  test('a failing endpoint gets one request at a time until it succeeds', async () => {
    const webhook = await makeWebhook(workspace, receiver)
    receiver.reply(500)
    await sendTest(workspace, webhook.id)
    work()
    await eventually(() => expect(receiver.received).toHaveLength(1))
    const later = await startReceiver()
    later.reply((response) => void setTimeout(() => response.writeHead(500).end(), 5))
    const params = { id: webhook.id }
    await eventually(async () => {
      const { items } = await workspace.ok(contract.deliveries.list, {})
      expect(items[0]).toMatchObject({ attemptCount: 1 })
    })
    await workspace.ok(contract.webhooks.update, { params, body: { url: later.url } })
    await queueTests(workspace, webhook.id, 10)
    // A read after a change returns it, so no further request goes to the old endpoint.
    await eventually(() => expect(later.received).toHaveLength(10))
    expect(later.mostInFlight()).toBe(1)
  })

  test('reads no more deliveries for a hanging endpoint than it can soon send', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const webhook = await makeWebhook(workspace, receiver)
    await queueTests(workspace, webhook.id, 100)
    const listDue = vi.spyOn(Deliveries.prototype, 'listDue')
    onTestFinished(() => listDue.mockRestore())
    const pages = async () => {
      const due = await Promise.all(listDue.mock.results.map(({ value }) => value))
      return due.map(({ length }) => length).filter((length) => length > 0)
    }
    const sum = (lengths: number[]) => lengths.reduce((one, other) => one + other, 0)
    work()
    await eventually(() => expect(held.waiting()).toBe(8))
    expect(sum(await pages())).toBeLessThanOrEqual(32)
    held.open()
    await eventually(() => expect(receiver.received).toHaveLength(100))
    expect(sum(await pages())).toBe(100)
    // There are seven full pages, or fewer longer ones.
    expect((await pages()).length).toBeLessThanOrEqual(7)
  })

  test('a disabled endpoint gets only the deliveries in flight', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const webhook = await makeWebhook(workspace, receiver)
    await queueTests(workspace, webhook.id, 20)
    work()
    await eventually(() => expect(held.waiting()).toBe(8))
    await workspace.ok(contract.webhooks.disable, { params: { id: webhook.id } })
    // The sender reads its endpoint again after a moment.
    const disabledAt = performance.now()
    await eventually(() => expect(performance.now() - disabledAt).toBeGreaterThan(200))
    held.open()
    await eventually(async () => {
      const { total } = await workspace.ok(contract.deliveries.list, { query: { status: 'SUCCESS' } })
      expect(total).toBe(8)
    })
    const { total } = await workspace.ok(contract.deliveries.list, { query: { status: 'FAILED' } })
    expect([total, receiver.received.length]).toEqual([12, 8])
  })

  test('a stopping server finishes deliveries in flight and leaves the others to the next server', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const webhook = await makeWebhook(workspace, receiver)
    await queueTests(workspace, webhook.id, 20)
    const stopping = new AbortController()
    const worker = work({ stopping: stopping.signal })
    await eventually(() => expect(held.waiting()).toBe(8))
    stopping.abort()
    const stopped = worker.stop()
    held.open()
    await stopped
    const query = { status: 'SUCCESS' as const }
    expect((await workspace.ok(contract.deliveries.list, { query })).total).toBe(8)
    expect(receiver.received).toHaveLength(8)
    work()
    await eventually(async () => expect((await workspace.ok(contract.deliveries.list, { query })).total).toBe(20))
    expect(receiver.received).toHaveLength(20)
  })

  test('a sender whose job was taken over writes nothing, and leaves due deliveries to the other', async () => {
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const webhook = await makeWebhook(workspace, receiver)
    const { id } = await sendTest(workspace, webhook.id)
    const worker = work()
    await eventually(() => expect(held.waiting()).toBe(1))
    const other = { claim_token: '0b5f2c3e-2222-8222-8333-444455556666' }
    await api.database.writer('jobs').where({ subject: webhook.id }).update(other)
    held.open()
    await worker.stop()
    expect(await readDelivery(workspace, id)).toMatchObject({ status: 'PENDING', attemptCount: 0 })
    expect(await api.database.writer('jobs').where({ subject: webhook.id })).toMatchObject([other])
  })
})
