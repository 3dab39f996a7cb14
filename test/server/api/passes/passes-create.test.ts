import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../../src/core/contract/schemas/common.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, issuedPass, makeProject, makeTemplate, passBody, publishedTemplate } from '../../fixtures.ts'

const { create } = contract.passes

async function issuesOf(workspace: TestWorkspace, body: unknown) {
  const answer = await workspace.send('POST', '/v1/passes', { body })
  const { errorCode, details } = answer.body as ErrorBody
  const issues = (details?.issues ?? []) as { path: string[] }[]
  return { status: answer.status, errorCode, paths: issues.map(({ path }) => path.join('.')).sort() }
}

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  test('a pass starts QUEUED with the values of the request and the template', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const template = await publishedTemplate(workspace, { projectId: project.id })
    const variables = { seat: 'A1', undeclared: { any: [1, null, 'JSON'] } }
    const body = passBody(template.id, { label: 'Ada 🎟️', variables })
    const answer = await workspace.call(create, { body })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('etag')).toBe('"1"')
    const at = api.now.toISOString()
    expect(answer.body).toEqual({
      id: expect.any(String),
      externalPassId: body.externalPassId,
      label: 'Ada 🎟️',
      status: 'QUEUED',
      version: 1,
      revision: 1,
      templateId: template.id,
      templateVersionId: template.versionId,
      templateVersion: 1,
      latestTemplateVersion: 1,
      projectId: project.id,
      variables,
      redemption: null,
      expiresAt: null,
      createdAt: at,
      updatedAt: at,
      groupKey: null,
      hostedLinks: {
        apple: expect.stringMatching(/^https:\/\/passes\.example\/l\/[\w-]{80}$/),
        google: expect.stringMatching(/^https:\/\/passes\.example\/l\/[\w-]{80}$/),
        smart: expect.stringMatching(/^https:\/\/passes\.example\/l\/[\w-]{80}$/),
        group: null,
      },
    })
  })

  test('a repeated externalPassId returns the existing pass unchanged, for any other content', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const { externalPassId, templateId } = pass
    const again = { externalPassId, templateId: templateId!, label: 'Other', variables: { tier: 7, 'a.b': 1 } }
    const answer = await workspace.call(create, { body: again })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body).toEqual(pass)
    await api.runJobs()
    expect(await workspace.events(pass.id)).toHaveLength(1)
  })

  test('an externalPassId of a pass of another template is 409 DUPLICATE_PASS', async () => {
    const workspace = await api.workspace()
    const { externalPassId, id } = await issuedPass(workspace)
    for (const template of [await publishedTemplate(workspace), await makeTemplate(workspace)]) {
      const body = passBody(template.id, { externalPassId })
      const rejection = await workspace.refused(create, { body })
      expect(rejection).toMatchObject({ status: 409, errorCode: 'DUPLICATE_PASS', details: { passId: id } })
    }
  })

  test('50 concurrent creates of one externalPassId create one pass', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const body = passBody(template.id)
    const answers = await Promise.all(Array.from({ length: 50 }, () => workspace.call(create, { body })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49)
    expect(new Set(answers.map((answer) => (answer.body as { id: string }).id)).size).toBe(1)
    const where = { workspace_id: workspace.id }
    expect(await api.database.writer('passes').where(where)).toHaveLength(1)
    expect(await api.database.writer('jobs').where({ ...where, kind: 'issue-pass' })).toHaveLength(1)
  })

  test('a template without a published version is 404 TEMPLATE_NOT_FOUND', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const params = { id: template.id }
    await workspace.ok(contract.templates.createVersion, { params, body: { definition: definition() } })
    for (const templateId of [template.id, '018f2f5e-7c1a-7000-8000-0123456789ab']) {
      const rejection = await workspace.refused(create, { body: passBody(templateId) })
      expect(rejection).toMatchObject({ status: 404, errorCode: 'TEMPLATE_NOT_FOUND' })
    }
    expect(await api.database.writer('passes').where({ workspace_id: workspace.id })).toEqual([])
  })

  testOnce('all errors of the body are reported at once, then all errors of the variables', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, {
      definition: definition({
        variables: [
          { name: 'name', label: 'Name', required: true },
          { name: 'day', label: 'Day', format: 'date' },
          { name: 'seat', label: 'Seat', maxLength: 2 },
          { name: 'tier', label: 'Tier', default: 'x' },
        ],
      }),
    })
    expect(await issuesOf(workspace, { label: '', templateId: 'x', variables: [], more: 1 })).toEqual({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      paths: ['externalPassId', 'label', 'more', 'templateId', 'variables'],
    })
    const variables = { day: 'today', seat: 'A12', tier: null }
    expect(await issuesOf(workspace, passBody(template.id, { variables }))).toEqual({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      paths: ['variables.day', 'variables.name', 'variables.seat', 'variables.tier'],
    })
  })

  test('each bound of a pass holds exactly', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const tryWith = async (parts: object) => (await issuesOf(workspace, { ...passBody(template.id), ...parts })).paths
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
    const sized = (bytes: number) => ({ v: 'x'.repeat(bytes - JSON.stringify({ v: '' }).length) })
    expect(await tryWith({ label: '😀'.repeat(255) })).toEqual([])
    expect(await tryWith({ label: 'x'.repeat(256) })).toEqual(['label'])
    expect(await tryWith({ label: '' })).toEqual(['label'])
    expect(await tryWith({ externalPassId: '😀'.repeat(255) })).toEqual([])
    expect(await tryWith({ externalPassId: 'x'.repeat(256) })).toEqual(['externalPassId'])
    expect(await tryWith({ externalPassId: '' })).toEqual(['externalPassId'])
    expect(await tryWith({ variables: keys(200) })).toEqual([])
    expect(await tryWith({ variables: keys(201) })).toEqual(['variables'])
    expect(await tryWith({ variables: sized(65_536) })).toEqual([])
    expect(await tryWith({ variables: sized(65_537) })).toEqual(['variables'])
  })

  testOnce.each(['pass.label', 'a.b', '.', 'project.name'])(
    'the key %s is 400 SYSTEM_VARIABLE_READONLY',
    async (key) => {
      const workspace = await api.workspace()
      const template = await publishedTemplate(workspace)
      const body = passBody(template.id, { variables: { [key]: 'x' } })
      const rejection = await workspace.refused(create, { body })
      expect(rejection).toMatchObject({
        status: 400,
        errorCode: 'SYSTEM_VARIABLE_READONLY',
        details: { variable: key },
      })
    },
  )

  test('returns variables exactly as sent, however unusual', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const json =
      '{"__proto__":{"polluted":true},"constructor":"c","toJSON":"t","":"empty","nul":"\\u0000","half":"\\ud800","big":1e300,' +
      '"deep":[[{"a":null}]],"tier":"{{pass.id}}","seat":"\\"<&>"}'
    const body = passBody(template.id)
    const text = JSON.stringify({ ...body, variables: 0 }).replace('"variables":0', `"variables":${json}`)
    const answer = await workspace.send('POST', '/v1/passes', { body: text })
    expect(answer.status, answer.text).toBe(201)
    const { id } = answer.body as { id: string }
    await api.runJobs()
    const read = await workspace.call(contract.passes.get, { params: { id } })
    const stored = (answer: { body: unknown }) => JSON.stringify((answer.body as { variables: object }).variables)
    expect(stored(answer)).toBe(JSON.stringify(JSON.parse(json)))
    expect(stored(read)).toBe(stored(answer))
    expect(read.body).toMatchObject({ status: 'ISSUED' })
    expect('polluted' in {}).toBe(false)
  })

  test('defaults are neither stored nor shown', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { externalPassId, label } = passBody(template.id)
    const pass = await workspace.ok(create, { body: { externalPassId, label, templateId: template.id } })
    expect(pass.variables).toEqual({})
  })
})
