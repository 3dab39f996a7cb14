import { describe, expect, test } from 'vitest'
import { LIST_BYTES } from '../../../src/server/http/thread.ts'
import { useApi } from '../../support/api.ts'

const body = '{}'

describe('what a request counts as at the thread', () => {
  const api = useApi('sqlite')

  test.each([
    ['a list', 'GET', '/v1/passes?limit=1', LIST_BYTES],
    ['what is counted over time', 'GET', '/v1/scans/stats', LIST_BYTES],
    ['a count of all wallets', 'GET', '/v1/wallets/slo', LIST_BYTES],
    ['a nudge, which reads what all wallets hold', 'POST', '/v1/wallets/nudge', LIST_BYTES],
    ['a read of one thing', 'GET', '/v1/workspace', 0],
    ['a small change', 'POST', '/v1/projects', body.length],
  ])('%s', async (_, method, path, bytes) => {
    const { token } = await api.workspace()
    const seen: number[] = []
    const { thread } = api.services
    const enterRequest: typeof thread.enterRequest = (workspaceId, cost) => {
      seen.push(cost)
      return thread.enterRequest(workspaceId, cost)
    }
    const app = api.createApp({ ...api.services, thread: { ...thread, enterRequest } })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await app.request(path, { method, headers, ...(method === 'POST' && { body }) })
    expect(seen).toEqual([bytes])
  })
})
