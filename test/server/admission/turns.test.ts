import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { NIL_UUID } from '../../../src/core/uuid.ts'
import { LIST_BYTES } from '../../../src/server/admission/event-loop-scheduler.ts'
import { useApi } from '../../support/api.ts'

const body = '{}'

describe('the cost of a request for the event loop', () => {
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
    const { eventLoop } = api.services
    const enterRequest: typeof eventLoop.enterRequest = (workspaceId, cost) => {
      seen.push(cost)
      return eventLoop.enterRequest(workspaceId, cost)
    }
    const app = api.createApp({ ...api.services, eventLoop: { ...eventLoop, enterRequest } })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await app.request(path, { method, headers, ...(method === 'POST' && { body }) })
    expect(seen).toEqual([bytes])
  })
})

describe('requests that render definitions', () => {
  const api = useApi('sqlite')

  test('run two at a time per workspace, and four at a time in total', async () => {
    const workspaces = [await api.workspace(), await api.workspace(), await api.workspace()]
    const { eventLoop } = api.services
    const inWork: string[] = []
    const most = { ofAll: 0, ofOne: 0 }
    const full = new AbortController()
    const isFull = once(full.signal, 'abort')
    const enterRequest: typeof eventLoop.enterRequest = async (workspaceId, cost) => {
      if (cost !== LIST_BYTES) return eventLoop.enterRequest(workspaceId, cost)
      inWork.push(workspaceId)
      most.ofAll = Math.max(most.ofAll, inWork.length)
      most.ofOne = Math.max(most.ofOne, inWork.filter((id) => id === workspaceId).length)
      if (inWork.length === 4) full.abort()
      await isFull
      // A request that renders nothing passes, and so would a further one that renders.
      expect((await send('/v1/workspace')).status).toBe(200)
      return () => void inWork.splice(inWork.indexOf(workspaceId), 1)
    }
    const app = api.createApp({ ...api.services, eventLoop: { ...eventLoop, enterRequest } })
    const send = (path: string, { token } = workspaces[0]!) =>
      app.request(path, { headers: { authorization: `Bearer ${token}` } })

    const previews = workspaces.flatMap((workspace) =>
      [1, 2, 3].map(() => send(`/v1/template-versions/${NIL_UUID}/preview`, workspace)),
    )
    expect((await Promise.all(previews)).map(({ status }) => status)).toEqual(Array(9).fill(404))
    expect(most).toEqual({ ofAll: 4, ofOne: 2 })
    expect(inWork).toEqual([])
  })
})
