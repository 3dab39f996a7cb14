import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { sendNotifications } from '../../../src/server/messages/send-notification.ts'
import type { Priority, Queue } from '../../../src/storage/jobs/job-kinds.ts'
import type { PushResult } from '../../../src/wallets/apple/push.ts'
import { useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { issuedPass } from '../fixtures.ts'

const lease = { limit: 100, leaseSeconds: 10 }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a worker with an expired lease does not overwrite the result of the worker that took over', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const { store } = api.services
    await store.transaction((tx) =>
      tx.registrations.insert(workspace.id, { passId: id, deviceId: 'd', pushToken: 'token' }, api.now),
    )
    const body = { body: 'Now', platforms: ['apple' as const] }
    await workspace.ok(contract.notifications.create, { params: { id }, body })
    const claim = (queue: Queue, priority?: Priority) =>
      store.transaction((tx) => tx.jobs.claim(queue, api.now, { ...lease, priority }))
    const send = (outcome: PushResult['outcome'], jobs: Awaited<ReturnType<typeof claim>>) =>
      sendNotifications(jobs, {
        ...api.services,
        push: {
          close: async () => undefined,
          send: async (tokens) => {
            if (outcome === 'failed') await overtake()
            return tokens.map((pushToken) => ({ pushToken, outcome, reason: outcome === 'failed' ? 'too late' : null }))
          },
        },
      })
    const overtake = async () => {
      api.advance(11)
      await store.transaction((tx) => tx.jobs.release(api.now))
      await send('sent', await claim('quarantine'))
    }
    await send('failed', await claim('pushes', 'urgent'))

    const { items } = await workspace.ok(contract.notifications.list, { params: { id } })
    expect(items).toMatchObject([{ status: 'SENT', apple: { status: 'SENT', deviceCount: 1 } }])
    const { apple } = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(apple).toMatchObject([{ pushedVersion: 2, lastError: null }])
  })
})
