import { beforeAll, describe, expect, test } from 'vitest'
import { ApiError, paginate } from '../../src/client/client.ts'
import { passBody, publishedTemplate } from '../server/fixtures.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { serveApp } from '../support/served-app.ts'

// Tests the app behind a real socket: behavior that only a socket shows, and the agreement of client and server.
describe('over HTTP', () => {
  const api = useApi('sqlite')
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const serve = () => serveApp(api, workspace.token)

  test('creates a project, finds it page by page, and deletes it', async () => {
    const { client } = await serve()
    const made = []
    for (const name of ['a', 'b', 'c']) made.push(await client.projects.create({ body: { name } }))
    const found = []
    for await (const project of paginate(client.projects.list, { limit: 2, sortDir: 'asc' })) found.push(project)
    expect(found).toEqual(made)
    for (const { id } of made) expect(await client.projects.delete({ params: { id } })).toBe(undefined)
    const error = await client.projects.get({ params: { id: made[0]!.id } }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 404, code: 'NOT_FOUND', details: { projectId: made[0]!.id } })
  })

  test('creates a batch of passes once, even if it is sent again', async () => {
    const { client } = await serve()
    const template = await publishedTemplate(workspace)
    const body = { passes: Array.from({ length: 10 }, () => passBody(template.id)) }
    const first = await client.passes.createBatch({ body })
    const second = await client.passes.createBatch({ body })
    const idsOf = ({ results }: typeof first) => results.map(({ pass }) => pass!.id)
    expect(idsOf(second)).toEqual(idsOf(first))
  })

  test('a body over the limit is 413, with its length announced or in chunks', async () => {
    const { url } = await serve()
    const headers = { authorization: `Bearer ${workspace.token}`, 'content-type': 'application/json' }
    const body = ' '.repeat(1024 * 1024 + 1)
    for (const sent of [body, new Blob([body]).stream()]) {
      const answer = await fetch(`${url}/v1/projects`, {
        method: 'POST',
        headers,
        body: sent,
        duplex: 'half',
      } as RequestInit)
      expect(answer.status).toBe(413)
      expect(await answer.json()).toMatchObject({ errorCode: 'INVALID_INPUT' })
    }
  })
})
