import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { MAX_PLACEHOLDERS } from '../../../../src/core/rules/template/render-work.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { issuedPass, makePass, passBody, publishedTemplate } from '../../fixtures.ts'

const { create, createBatch, get, preview, update } = contract.passes
const fields = { back: [{ key: 'about', value: '{{about}}' }] }
const design = { organizationName: 'O', description: 'D', fields }
const about = { name: 'about', label: 'About' }
const sound: DefinitionInput = { variables: [about], design }
const bomb: DefinitionInput = {
  ...sound,
  apple: { userInfo: { x: '{{about}}'.repeat(50_000) } },
  google: { object: { x: '{{about}}'.repeat(50_000) } },
  photo: '{{about}}'.repeat(200),
}
const long = 'x'.repeat(60_000)

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  /** Stores a definition as an old server could have done. */
  async function redefine(workspace: TestWorkspace, versionId: string, definition: DefinitionInput) {
    const row = { workspace_id: workspace.id, id: versionId }
    await api.database
      .writer('template_versions')
      .where(row)
      .update({ definition: JSON.stringify(full(definition)) })
  }

  const full = (definition: DefinitionInput) => contract.templates.createVersion.body.parse({ definition }).definition

  test('rejects values that make a field too large, with the variable and the field', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: sound })
    const variables = { about: 'ü'.repeat(4097) }
    const issue = {
      path: ['variables', 'about'],
      message: 'With this value, design.fields.back.0.value has 8194 bytes, and at most 8192 are allowed: shorten it',
    }
    const rejection = { status: 400, errorCode: 'VALIDATION_ERROR', details: { issues: [issue] } }
    expect(await workspace.refused(create, { body: passBody(template.id, { variables }) })).toMatchObject(rejection)

    const passes = [
      passBody(template.id, { variables: { about: 'ü'.repeat(4096) } }),
      passBody(template.id, { variables }),
    ]
    const { results } = await workspace.ok(createBatch, { body: { passes } })
    expect(results.map(({ success, error }) => error?.details ?? success)).toEqual([true, { issues: [issue] }])

    const pass = await makePass(workspace, template.id)
    expect(await workspace.refused(update, { params: { id: pass.id }, body: { variables } })).toMatchObject(rejection)
    expect(await workspace.ok(get, { params: { id: pass.id } })).toEqual(pass)
  })

  test('rejects a draft that is too much work to render, and keeps an older one readable', async () => {
    const workspace = await api.workspace()
    const excess: DefinitionInput = { ...sound, apple: { userInfo: { x: '{{about}}'.repeat(MAX_PLACEHOLDERS + 1) } } }
    const issues = [
      {
        path: ['definition', 'apple', 'userInfo', 'x'],
        message: expect.stringContaining(
          `renders ${MAX_PLACEHOLDERS + 2} placeholders in all of its languages, and at most ${MAX_PLACEHOLDERS} are allowed`,
        ),
      },
    ]
    const rejection = { status: 400, errorCode: 'VALIDATION_ERROR', details: { issues } }
    const template = await publishedTemplate(workspace, { definition: sound })
    const body = { definition: excess }
    expect(
      await workspace.refused(contract.templates.createVersion, { params: { id: template.id }, body }),
    ).toMatchObject(rejection)
    const { createVersion } = contract.templates
    const draft = await workspace.ok(createVersion, { params: { id: template.id }, body: { definition: sound } })
    const params = { id: draft.id }
    expect(await workspace.refused(contract.templateVersions.update, { params, body })).toMatchObject(rejection)
    await redefine(workspace, draft.id, excess)
    const read = await workspace.ok(contract.templateVersions.get, { params })
    expect(read.definition.apple).toEqual(excess.apple)
    expect(await workspace.refused(contract.templateVersions.publish, { params })).toMatchObject(rejection)
  })

  test('a pass from before the bounds fails with its reason, and shorter values fix it', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: sound })
    const pass = await makePass(workspace, template.id, { variables: { about: 'x'.repeat(8000) } })
    await redefine(workspace, template.versionId, bomb)
    await api.runJobs()
    expect(await workspace.ok(get, { params: { id: pass.id } })).toMatchObject({ status: 'FAILED' })
    const failed = (await workspace.events(pass.id)).find(({ type }) => type === 'pass.failed')
    expect(failed?.data.error).toEqual({
      code: 'PASS_ISSUING_FAILED',
      message: expect.stringMatching(/^The pass is too large: .* has 8\d+ bytes, .* \(about adds the most\)/),
    })
    await workspace.ok(update, { params: { id: pass.id }, body: { variables: { about: '' } } })
    await api.runJobs()
    expect(await workspace.ok(get, { params: { id: pass.id } })).toMatchObject({ status: 'ISSUED' })
  })

  test('links, previews, and scans of an issued one respond without rendering', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { definition: sound, variables: { about: 'x'.repeat(8000) } })
    await redefine(workspace, pass.templateVersionId!, {
      ...bomb,
      variables: [{ ...about, default: 'x'.repeat(10_000) }],
    })
    const stored = { workspace_id: workspace.id, id: pass.id }
    await api.database
      .writer('passes')
      .where(stored)
      .update({ variables: JSON.stringify({ about: long }) })

    for (const link of [pass.hostedLinks.apple!, pass.hostedLinks.google!, `${pass.hostedLinks.smart}?choose`]) {
      const { pathname, search } = new URL(link)
      const answer = await api.send('GET', `${pathname}${search}`, { headers: { accept: 'application/json' } })
      expect(answer.body).toMatchObject({ errorCode: 'LINK_REVOKED', details: { reason: 'failed' } })
    }
    for (const query of [{}, { format: 'html' as const }]) {
      const refused = await workspace.refused(preview, { params: { id: pass.id }, query })
      expect(refused).toMatchObject({ status: 409, errorCode: 'CONFLICT', message: expect.stringMatching(/too large/) })
      const version = { params: { id: pass.templateVersionId! }, query }
      expect(await workspace.refused(contract.templateVersions.preview, version)).toMatchObject({
        errorCode: 'CONFLICT',
      })
    }
    const scan = await workspace.send('POST', '/v1/scans', { body: { passId: pass.id } })
    expect(scan.status, scan.text).toBeLessThan(300)
  })
})
