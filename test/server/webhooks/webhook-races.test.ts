import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { deliverWebhooks } from '../../../src/server/webhooks/deliver-webhooks.ts'
import type { Store } from '../../../src/storage/store.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { eventually, gate } from '../jobs/fixtures.ts'
import { makeWebhook, queueTests, sendTest } from './webhook-fixtures.ts'

/** On SQLite one transaction follows the other. */
describe('on postgres', () => {
  const api = useApi('postgres', { outbound: { allowInsecure: true } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
  })

  test('a server that waits for another leaves what that one leaves as it ends', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const held = gate()
    receiver.reply((response) => held.pass().then(() => void response.end()))
    const { id } = await makeWebhook(workspace, receiver)
    await queueTests(workspace, id, 20)
    const { store } = api.services
    const job = { workspaceId: workspace.id, kind: 'deliver-webhooks' as const, subject: id, correlationId: null }
    await store.transaction((tx) => tx.jobs.insert([job], api.now))
    const claimed = { limit: 1, leaseSeconds: 60 }
    // Two servers that claim at once do not see each other.
    const [mine, theirs] = await store.transaction(async (tx) => [
      await tx.jobs.claim('webhooks', api.now, claimed),
      await store.transaction((other) => other.jobs.claim('webhooks', api.now, claimed)),
    ])
    const sending = deliverWebhooks(mine!, api.services)
    await eventually(() => expect(held.waiting()).toBe(8))
    const endTurn = () => {
      vi.advanceTimersByTime(10_000)
      held.open()
      return overOrBlocked(sending)
    }
    await deliverWebhooks(theirs!, { ...api.services, store: onceHoldIsRead(store, endTurn) })
    await sending
    expect(await api.database.reader('jobs')).toMatchObject([{ subject: id, run_at: api.now.getTime() }])
  })

  test('a redelivery is not undone by the end of older deliveries that came before it', async () => {
    const { id: webhookId } = await makeWebhook(workspace, receiver)
    const { id } = await sendTest(workspace, webhookId)
    // As after a disabling that had more to end, and an enabling.
    const target = { id: webhookId, generation: 2 }
    await api.database.writer('webhooks').where({ id: webhookId }).update({ generation: 2 })
    const { store } = api.services
    let ending = Promise.resolve()
    await store.transaction(async (tx) => {
      await tx.deliveries.redeliver(workspace.id, id, target, api.now)
      const options = { before: 2, at: api.now, limit: 10 }
      ending = store.transaction((other) => other.deliveries.end(workspace.id, webhookId, options))
      await overOrBlocked(ending)
    })
    await ending
    expect(await store.deliveries.find(workspace.id, id)).toMatchObject({ status: 'PENDING', generation: 2 })
  })

  /** Waits until work is over, or waits for a row that another transaction holds. */
  async function overOrBlocked(work: Promise<unknown>): Promise<void> {
    let isOver = false
    void work.then(() => {
      isOver = true
    })
    await eventually(async () => {
      const blocked = api.database.reader('pg_stat_activity').where({ wait_event_type: 'Lock' })
      expect(isOver || (await blocked.whereRaw('datname = current_database()')).length > 0).toBe(true)
    })
  }
})

/** A store on which something happens as soon as it was read how long an endpoint is held. */
function onceHoldIsRead(store: Store, work: () => Promise<void>): Store {
  return {
    ...store,
    transaction: (write) =>
      store.transaction((tx) => {
        const findHoldEnd: typeof tx.webhooks.findHoldEnd = async (workspaceId, id) => {
          const end = await tx.webhooks.findHoldEnd(workspaceId, id)
          await work()
          return end
        }
        return write({ ...tx, webhooks: Object.assign(Object.create(tx.webhooks), { findHoldEnd }) })
      }),
  }
}
