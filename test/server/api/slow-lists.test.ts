import { describe, expect, test } from 'vitest'
import { insertPasses } from '../../../bench/support/many-passes.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import { useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { makeProject } from '../fixtures.ts'

/** Two letters are too short for the trigram index, so the search reads every row for each term. */
const costly = ['zx', 'qj', 'vq', 'xk', 'jq']

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect, { database: { statementLimitMs: 4 } })

  test('a slow list or dry run returns 503 with Retry-After and the filters to narrow', async () => {
    const workspace = await api.workspace()
    const { id } = await makeProject(workspace)
    await insertPasses(api.database.writer, workspace.id, 40_000, id)
    const filter = { search: costly, label: costly, labelMatch: 'contains' as const }
    const list = await workspace.call(contract.passes.list, { query: filter })
    const body = { body: 'Doors open at 7', filter }
    const dryRun = await workspace.call(contract.broadcasts.create, { params: { id }, query: { dryRun: true }, body })
    for (const answer of [list, dryRun]) {
      expect(answer.status, answer.text).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('10')
      expect(answer.body).toMatchObject({
        errorCode: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining('fewer or longer values of search, label, labelMatch'),
        details: { filters: ['search', 'label', 'labelMatch'] },
      })
    }
  })
})
