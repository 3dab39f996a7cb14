import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { makeProject, passBody, publishedTemplate } from '../fixtures.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test.each(['a', 'order-4711', 'A.b_c-9', 'x'.repeat(128)])('keeps the correlation ID %s', async (id) => {
    for (const [method, path] of [
      ['GET', '/healthz'],
      ['GET', '/v1/projects'],
      ['GET', '/nothing'],
      ['PUT', '/v1/projects'],
    ] as const) {
      const answer = await api.send(method, path, { headers: { 'x-correlation-id': id } })
      expect(answer.headers.get('x-correlation-id')).toBe(id)
      if (answer.status >= 400) expect((answer.body as ErrorBody).correlationId).toBe(id)
    }
  })

  test.each(['', 'x'.repeat(129), 'a b', 'a;b', '<script>', 'é', '../x'])(
    'replaces the correlation ID %j',
    async (id) => {
      const answer = await api.send('GET', '/healthz', { headers: { 'x-correlation-id': id } })
      expect(answer.headers.get('x-correlation-id')).toMatch(uuid)
    },
  )

  test('a request without a correlation ID gets its own', async () => {
    const answers = [await api.send('GET', '/healthz'), await api.send('GET', '/healthz')]
    const ids = answers.map(({ headers }) => headers.get('x-correlation-id'))
    expect(ids[0]).toMatch(uuid)
    expect(ids[0]).not.toBe(ids[1])
  })

  test('jobs and events of a request have its correlation ID', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const correlation = { 'x-correlation-id': 'import-2026' }
    const { id } = (await workspace.call(contract.passes.create, { body: passBody(template.id) }, correlation))
      .body as {
      id: string
    }
    const project = await makeProject(workspace)
    await workspace.call(contract.projects.delete, { params: { id: project.id } }, { 'x-correlation-id': 'clean-up' })
    const jobs: { subject: string; correlation_id: string }[] = await api.database
      .writer('jobs')
      .where({ workspace_id: workspace.id })
      .whereNot({ kind: 'upsert-google-class' })
    expect(jobs.map(({ subject, correlation_id }) => [subject, correlation_id]).sort()).toEqual(
      [
        [id, 'import-2026'],
        [project.id, 'clean-up'],
      ].sort(),
    )
    await api.runJobs()
    expect((await workspace.events(id)).map(({ correlationId }) => correlationId)).toEqual(['import-2026'])
  })
})
