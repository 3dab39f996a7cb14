import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import {
  definition,
  issuedPass,
  makeProject,
  makeTemplate,
  passBody,
  publishedTemplate,
  publishVersion,
} from '../../fixtures.ts'

const { create, get, update, delete: remove, createVersion, variablesSchema } = contract.templates
const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const notFound = { status: 404, errorCode: 'TEMPLATE_NOT_FOUND' }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  test('creates, reads, changes, and deletes a template', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const answer = await workspace.call(create, {
      body: { name: 'Card', passType: 'storeCard', projectId: project.id },
    })
    expect(answer.status).toBe(201)
    const at = api.now.toISOString()
    const made = { name: 'Card', description: '', passType: 'storeCard', projectId: project.id, createdAt: at }
    expect(answer.body).toMatchObject({ ...made, latestPublishedVersion: null, updatedAt: at })
    const params = { id: (answer.body as { id: string }).id }
    api.advance(5)
    const body = { name: 'Card 2', description: 'New', passType: 'coupon', projectId: null } as const
    const changed = { ...(answer.body as object), ...body, updatedAt: api.now.toISOString() }
    expect(await workspace.ok(update, { params, body })).toEqual(changed)
    expect(await workspace.ok(get, { params })).toEqual(changed)
    expect((await workspace.call(remove, { params })).status).toBe(204)
    for (const call of [get, remove, variablesSchema])
      expect(await workspace.refused(call, { params })).toMatchObject(notFound)
    expect(await workspace.refused(update, { params, body: { name: 'x' } })).toMatchObject(notFound)
    expect(await workspace.refused(createVersion, { params, body: { definition: definition() } })).toMatchObject(
      notFound,
    )
    expect((await workspace.ok(contract.templates.list, {})).items).toEqual([])
  })

  test('one of concurrent templates of a workspace gets a key, until it releases it', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const body = { name: 'Card', passType: 'generic' as const, key: 'day-card' }
    const answers = await Promise.all([1, 2, 3].map(() => workspace.call(create, { body })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    expect((await other.call(create, { body })).status).toBe(201)
    const taken = { status: 409, errorCode: 'CONFLICT', details: { key: 'day-card' } }
    const { id: rival } = await makeTemplate(workspace)
    const take = { params: { id: rival }, body: { key: 'day-card' } }
    expect(await workspace.refused(update, take)).toMatchObject(taken)
    const listed = await workspace.ok(contract.templates.list, { query: { key: ['day-card', 'unknown'] } })
    expect(listed.items).toMatchObject([{ key: 'day-card' }])
    const params = { id: listed.items[0]!.id }
    expect(await workspace.ok(update, { params, body: { name: 'Same', key: 'day-card' } })).toMatchObject({
      key: 'day-card',
    })
    await workspace.ok(update, { params, body: { key: null } })
    expect(await workspace.ok(update, take)).toMatchObject({ key: 'day-card' })
    await workspace.call(remove, { params: { id: rival } })
    expect((await workspace.call(create, { body })).status).toBe(201)
  })

  testOnce.each(['', 'Day', 'a b', 'ä', 'a'.repeat(65), 'a_b'])('rejects the key "%s"', async (key) => {
    const workspace = await api.workspace()
    const refused = await workspace.refused(create, { body: { name: 'Card', passType: 'generic', key } })
    expect(refused).toMatchObject({ status: 400, details: { issues: [{ path: ['key'] }] } })
  })

  test('an unknown template is 404 TEMPLATE_NOT_FOUND, an unknown project NOT_FOUND', async () => {
    const workspace = await api.workspace()
    for (const call of [get, remove, variablesSchema]) {
      expect(await workspace.refused(call, { params: { id } })).toMatchObject(notFound)
    }
    const body = { name: 'x', passType: 'generic' as const, projectId: id }
    expect(await workspace.refused(create, { body })).toMatchObject({ status: 404, errorCode: 'NOT_FOUND' })
    const template = await makeTemplate(workspace)
    const move = { params: { id: template.id }, body: { projectId: id } }
    expect(await workspace.refused(update, move)).toMatchObject({ status: 404, errorCode: 'NOT_FOUND' })
  })

  testOnce('an empty change is 400 MISSING_REQUIRED_FIELD', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const rejection = await workspace.refused(update, { params: { id: template.id }, body: {} })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'MISSING_REQUIRED_FIELD' })
  })

  testOnce.each(PassType.options)(
    'the pass type %s is locked by the first publish and open until then',
    async (passType) => {
      const workspace = await api.workspace()
      const template = await makeTemplate(workspace, { passType: passType === 'generic' ? 'coupon' : 'generic' })
      const params = { id: template.id }
      await workspace.ok(createVersion, { params, body: { definition: definition() } })
      expect(await workspace.ok(update, { params, body: { passType } })).toMatchObject({ passType })
      await publishVersion(workspace, template.id, definition(forPassType(passType)))
      const other = passType === 'generic' ? 'coupon' : 'generic'
      const rejection = await workspace.refused(update, { params, body: { passType: other, name: 'not either' } })
      expect(rejection).toMatchObject({ status: 409, errorCode: 'TEMPLATE_PASS_TYPE_LOCKED' })
      expect(await workspace.ok(update, { params, body: { passType, name: 'same type' } })).toMatchObject({
        name: 'same type',
      })
    },
  )

  test('deleting a template keeps its passes and prevents new ones', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    expect(pass).toMatchObject({ templateVersion: 1, latestTemplateVersion: 1 })
    await workspace.ok(remove, { params: { id: pass.templateId! } })
    const after = await workspace.ok(contract.passes.get, { params: { id: pass.id } })
    expect(after).toEqual({ ...pass, latestTemplateVersion: null })
    const link = await api.send('GET', new URL(after.hostedLinks.apple!).pathname)
    expect(link.status).toBe(200)
    expect(await workspace.refused(contract.passes.create, { body: passBody(pass.templateId!) })).toMatchObject(
      notFound,
    )
    const versions = await workspace.refused(contract.templateVersions.get, { params: { id: pass.templateVersionId! } })
    expect(versions).toMatchObject(notFound)
  })

  test('the variables schema is that of the newest published version', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const params = { id: template.id }
    const draft = await workspace.ok(createVersion, { params, body: { definition: definition() } })
    expect(await workspace.refused(variablesSchema, { params })).toMatchObject(notFound)
    await workspace.ok(contract.templateVersions.publish, { params: { id: draft.id } })
    await publishVersion(
      workspace,
      template.id,
      definition({
        variables: [
          { name: 'tier', label: 'Tier', required: true, maxLength: 5, example: 'Gold' },
          { name: 'seat', label: 'Seat', format: 'date', default: '2027-01-01', required: true },
        ],
      }),
    )
    const { schema } = await workspace.ok(variablesSchema, { params })
    expect(schema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        tier: { type: 'string', title: 'Tier', maxLength: 5, examples: ['Gold'] },
        seat: { type: 'string', title: 'Seat', default: '2027-01-01', pattern: expect.any(String) },
      },
      required: ['tier'],
      maxProperties: 200,
    })
    await publishVersion(
      workspace,
      template.id,
      definition({ variables: [], design: { organizationName: 'O', description: 'D' } }),
    )
    expect((await workspace.ok(variablesSchema, { params })).schema).toMatchObject({ properties: {}, required: [] })
  })

  test('a pass keeps its version, and shows newer ones', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const pass = await workspace.ok(contract.passes.create, { body: passBody(template.id) })
    await publishVersion(workspace, template.id, definition())
    const seen = await workspace.ok(contract.passes.get, { params: { id: pass.id } })
    expect(seen).toMatchObject({ templateVersionId: template.versionId, templateVersion: 1, latestTemplateVersion: 2 })
    const newer = await workspace.ok(contract.passes.create, { body: passBody(template.id) })
    expect(newer).toMatchObject({ templateVersion: 2, latestTemplateVersion: 2 })
  })

  test('the highest number is the newest, even if drafts are published out of order', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const body = { definition: definition() }
    const [first, second] = [
      await workspace.ok(createVersion, { params: { id: template.id }, body }),
      await workspace.ok(createVersion, { params: { id: template.id }, body }),
    ]
    for (const { id } of [second, first]) await workspace.ok(contract.templateVersions.publish, { params: { id } })
    const { latestPublishedVersion } = await workspace.ok(get, { params: { id: template.id } })
    expect(latestPublishedVersion).toBe(2)
    expect(await workspace.ok(contract.passes.create, { body: passBody(template.id) })).toMatchObject({
      templateVersion: 2,
    })
  })
})

/** Returns the fields that a platform requires for a pass type in addition to a plain definition. */
function forPassType(passType: PassType) {
  const logo = { sourceUri: { uri: 'https://cdn.example/logo.png' } }
  if (passType === 'storeCard') return { google: { class: { programLogo: logo } } }
  if (passType !== 'boardingPass') return {}
  return { apple: { transitType: 'PKTransitTypeTrain' as const }, google: { class: { logo } } }
}
