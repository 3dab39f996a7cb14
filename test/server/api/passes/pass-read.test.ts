import { describe, expect, test } from 'vitest'
import type { ApiError } from '../../../../src/core/errors.ts'
import { newId } from '../../../../src/core/ids.ts'
import { passes } from '../../../../src/server/api/passes/passes-handlers.ts'
import type { RequestContext } from '../../../../src/server/context.ts'
import type { Reply } from '../../../../src/server/http/responses.ts'
import { useApi } from '../../../support/api.ts'
import { makePass, publishedTemplate } from '../../fixtures.ts'
import { gate } from '../../jobs/fixtures.ts'

describe('reads of passes', () => {
  const api = useApi('sqlite')

  test('concurrent reads are found by one statement, with one response per request', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const first = await makePass(workspace, template.id)
    const second = await makePass(workspace, template.id)
    const unknown = newId(api.now)
    const store = api.services.store.forRequests(workspace.id)
    const reading = gate()
    const statements: string[][] = []
    async function listByIds(workspaceId: string, ids: string[]) {
      statements.push(ids)
      if (statements.length === 1) await reading.pass()
      return store.passes.listByIds(workspaceId, ids)
    }
    const { services, now } = api
    const context = { services, store: { passes: { listByIds } }, workspaceId: workspace.id, now }
    const get = (id: string) =>
      passes.get({ params: { id }, query: {} } as never, context as unknown as RequestContext).then(
        (reply) => (reply as Reply<200, { id: string }>).body.id,
        (error: ApiError) => error.code,
      )

    const answers = [first.id, second.id, unknown, second.id].map(get)
    expect(statements).toEqual([[first.id]])
    reading.open()
    expect(await Promise.all(answers)).toEqual([first.id, second.id, 'PASS_NOT_FOUND', second.id])
    expect(statements).toEqual([[first.id], [second.id, unknown, second.id]])
  })
})
