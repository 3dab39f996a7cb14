import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { NIL_UUID } from '../../../src/core/uuid.ts'
import { LIST_BYTES } from '../../../src/server/admission/event-loop-scheduler.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { gate } from '../jobs/fixtures.ts'

const body = '{}'
const largeBody = body.padEnd(2 * LIST_BYTES)

describe('the cost of a request for the event loop', () => {
  const api = useApi('sqlite')

  test.each([
    ['a list', 'GET', '/v1/passes?limit=1', LIST_BYTES],
    ['a count over time', 'GET', '/v1/scans/stats', LIST_BYTES],
    ['a count of all wallets', 'GET', '/v1/wallets/slo', LIST_BYTES],
    ['a nudge, which reads all wallets', 'POST', '/v1/wallets/nudge', LIST_BYTES],
    ['a read of one resource', 'GET', '/v1/workspace', 0],
    ['a small change', 'POST', '/v1/projects', body.length],
    ['a small definition', 'POST', `/v1/templates/${NIL_UUID}/versions`, LIST_BYTES],
    ['a large definition', 'POST', `/v1/templates/${NIL_UUID}/versions`, largeBody.length, largeBody],
  ])('%s', async (_, method, path, bytes, sent = body) => {
    const { token } = await api.workspace()
    const seen: number[] = []
    const { eventLoop } = api.services
    const enterRequest: typeof eventLoop.enterRequest = (workspaceId, cost) => {
      seen.push(cost)
      return eventLoop.enterRequest(workspaceId, cost)
    }
    const app = api.createApp({ ...api.services, eventLoop: { ...eventLoop, enterRequest } })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await app.request(path, { method, headers, ...(method === 'POST' && { body: sent }) })
    expect(seen).toEqual([bytes])
  })
})

describe('requests that render definitions', () => {
  const api = useApi('sqlite')

  const preview = `/v1/template-versions/${NIL_UUID}/preview`

  test('run two at a time per workspace, and four at a time in total', async () => {
    const workspaces = [await api.workspace(), await api.workspace(), await api.workspace()]
    const { store } = api.services
    const inWork: string[] = []
    const most = { ofAll: 0, ofOne: 0 }
    const full = new AbortController()
    const isFull = once(full.signal, 'abort')
    const find = async (workspaceId: string) => {
      inWork.push(workspaceId)
      most.ofAll = Math.max(most.ofAll, inWork.length)
      most.ofOne = Math.max(most.ofOne, inWork.filter((id) => id === workspaceId).length)
      if (inWork.length === 4) full.abort()
      await isFull
      // A request that renders nothing passes. Another request that renders would pass too.
      expect((await send('/v1/workspace')).status).toBe(200)
      inWork.splice(inWork.indexOf(workspaceId), 1)
    }
    const forRequests: typeof store.forRequests = (...party) => {
      const own = store.forRequests(...party)
      return { ...own, templateVersions: Object.assign(Object.create(own.templateVersions), { find }) }
    }
    const app = api.createApp({ ...api.services, store: { ...store, forRequests } })
    const send = (path: string, { token } = workspaces[0]!) =>
      app.request(path, { headers: { authorization: `Bearer ${token}` } })

    const previews = workspaces.flatMap((workspace) => [1, 2, 3].map(() => send(preview, workspace)))
    expect((await Promise.all(previews)).map(({ status }) => status)).toEqual(Array(9).fill(404))
    expect(most).toEqual({ ofAll: 4, ofOne: 2 })
    expect(inWork).toEqual([])
  })

  test('occupy no place while they wait for the event loop', async () => {
    const busy = [await api.workspace(), await api.workspace()]
    const light = await api.workspace()
    const { eventLoop } = api.services
    const turn = gate()
    const enterRequest: typeof eventLoop.enterRequest = async (workspaceId, cost) => {
      if (workspaceId !== light.id) await turn.pass()
      return eventLoop.enterRequest(workspaceId, cost)
    }
    const app = api.createApp({ ...api.services, eventLoop: { ...eventLoop, enterRequest } })
    const send = ({ token }: TestWorkspace) => app.request(preview, { headers: { authorization: `Bearer ${token}` } })
    const waiting = busy.flatMap((workspace) => [send(workspace), send(workspace)])
    await eventually(() => expect(turn.waiting()).toBe(4))
    expect((await send(light)).status).toBe(404)
    turn.open()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(4).fill(404))
  })
})
