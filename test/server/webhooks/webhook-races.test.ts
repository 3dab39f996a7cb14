import { beforeEach, describe, expect, test } from 'vitest'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { overOrBlocked } from '../../support/eventually.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { makeWebhook, sendTest } from './webhook-fixtures.ts'

/** On SQLite, transactions never overlap. */
describe('on postgres', () => {
  const api = useApi('postgres', { outbound: { allowInsecure: true } })
  let workspace: TestWorkspace
  let receiver: Receiver

  beforeEach(async () => {
    workspace = await api.workspace()
    receiver = await startReceiver()
  })

  test('ending older deliveries does not end a concurrent redelivery', async () => {
    const { id: webhookId } = await makeWebhook(workspace, receiver)
    const { id } = await sendTest(workspace, webhookId)
    // The state after the webhook was disabled and enabled again while old deliveries were not yet ended.
    const target = { id: webhookId, generation: 2 }
    await api.database.writer('webhooks').where({ id: webhookId }).update({ generation: 2 })
    const { store } = api.services
    let ending = Promise.resolve()
    await store.transaction(async (tx) => {
      await tx.deliveries.redeliver(workspace.id, id, target, api.now)
      const options = { before: 2, at: api.now, limit: 10 }
      ending = store.transaction((other) => other.deliveries.end(workspace.id, webhookId, options))
      await overOrBlocked(api.database, ending)
    })
    await ending
    expect(await store.deliveries.find(workspace.id, id)).toMatchObject({ status: 'PENDING', generation: 2 })
  })
})
