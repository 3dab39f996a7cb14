import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import { useApi } from '../../support/api.ts'
import { makeTemplate, passBody, publishedTemplate } from '../fixtures.ts'

const design = { organizationName: 'O', description: 'D' }

describe('on sqlite', () => {
  const api = useApi('sqlite')

  test('a response lists a hundred issues of a request and the number of the others', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const definition = { design, apple: { userInfo: { x: '{{a}}'.repeat(5_000) } } }
    const draft = await workspace.ok(contract.templates.createVersion, {
      params: { id: template.id },
      body: { definition },
    })
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 0]))
    const answers = [
      [await workspace.call(contract.templateVersions.publish, { params: { id: draft.id } }), 5_000],
      [await workspace.send('POST', '/v1/projects', { body: keys }), 50_001],
      [await workspace.send('POST', '/v1/projects', { body: `[${'1e400,'.repeat(100_000)}1]` }), 100_000],
    ] as const
    for (const [answer, count] of answers) {
      const { errorCode, details, message } = answer.body as ErrorBody
      expect(errorCode).toBe('VALIDATION_ERROR')
      expect(details.issues).toHaveLength(100)
      expect(details.omittedIssues).toBe(count - 100)
      expect(message).toContain(`(and ${count - 1} more,`)
      expect(answer.bytes.length).toBeLessThan(50_000)
    }
  })

  test('the items of a batch share the hundred issues of the response, and each counts its own', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const odd = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`k${index}`, 0]))
    const passes = Array.from({ length: 3 }, () => ({ ...passBody(template.id), ...odd }))
    const { body } = await workspace.send('POST', '/v1/passes/batch', { body: { passes } })
    const { results } = body as { results: { error: { message: string; details: Record<string, unknown> } }[] }
    const counts = results.map(({ error: { details } }) => [(details.issues as []).length, details.omittedIssues])
    expect(counts).toEqual([
      [70, undefined],
      [30, 40],
      [0, 70],
    ])
    expect(results[2]!.error.message).toBe('k0: Unknown property (and 69 more, see details.issues)')
  })

  test('rejects a number that JSON would change, with its path, in every body', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const send = (number: string) =>
      workspace.send('POST', '/v1/passes', {
        body: JSON.stringify(passBody(template.id, { variables: { n: ['N'] } })).replace('"N"', number),
        headers: { 'content-type': 'application/json' },
      })
    for (const number of ['12345678901234567890', '1e400']) {
      const { status, body } = await send(number)
      expect(status).toBe(400)
      expect(body).toMatchObject({
        errorCode: 'VALIDATION_ERROR',
        details: {
          issues: [
            { path: ['variables', 'n', 0], message: expect.stringMatching(`^Is ${number}, .* send it as text`) },
          ],
        },
      })
    }
    expect((await send('9007199254740992')).body).toMatchObject({ variables: { n: [9007199254740992] } })
  })
})
