import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { TemplateVersion } from '../../../../src/core/contract/templates/template-versions.ts'
import { useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { definition, makeProject, makeTemplate, publishedTemplate } from '../../fixtures.ts'

const { list, get, update, delete: remove, publish, preview } = contract.templateVersions
const { createVersion } = contract.templates
const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
const notFound = { status: 404, errorCode: 'TEMPLATE_NOT_FOUND' }
const conflict = { status: 409, errorCode: 'CONFLICT' }
const design = { organizationName: 'O', description: 'D' }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  test('creates, reads, changes, and deletes a draft', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const answer = await workspace.call(createVersion, {
      params: { id: template.id },
      body: { definition: { design } },
    })
    expect(answer.status).toBe(201)
    const draft = answer.body as TemplateVersion
    expect(draft).toMatchObject({ templateId: template.id, version: 1, stage: 'draft', publishedAt: null })
    const params = { id: draft.id }
    expect(await workspace.ok(get, { params })).toEqual(draft)

    api.advance(5)
    const changed = await workspace.ok(update, {
      params,
      body: { definition: { design: { ...design, logoText: 'Hi' } } },
    })
    expect(changed).toMatchObject({
      version: 1,
      updatedAt: api.now.toISOString(),
      definition: { design: { logoText: 'Hi' } },
    })
    expect(await workspace.ok(get, { params })).toEqual(changed)
    expect((await workspace.call(remove, { params })).status).toBe(204)
    for (const call of [get, remove, publish]) expect(await workspace.refused(call, { params })).toMatchObject(notFound)
  })

  testOnce('the preview shows the names of the template and its project', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace, 'Spring fair')
    const primary = [{ key: 'name', label: '{{template.name}}', value: 'at {{project.name}}.' }]
    const body = { definition: { design: { ...design, fields: { primary } } } }
    for (const [ofProject, shown] of [
      [{ projectId: project.id }, 'at Spring fair.'],
      [{}, 'at .'],
    ] as const) {
      const template = await makeTemplate(workspace, { name: 'Day ticket', ...ofProject })
      const { id } = await workspace.ok(createVersion, { params: { id: template.id }, body })
      const { card } = (await workspace.ok(preview, { params: { id } })) as { card: unknown }
      expect(card).toMatchObject({ fields: { primary: [{ label: 'Day ticket', value: shown }] } })
      const page = await workspace.call(preview, { params: { id }, query: { format: 'html' } })
      expect(String(page.body)).toContain(shown)
    }
  })

  testOnce('returns a definition complete, with its defaults', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const full = {
      ...definition(),
      apple: { userInfo: { nested: [{ '😀': null }] } },
      google: { kind: 'generic' as const, class: { a: 1 }, object: { b: [true] } },
      expiresAt: '2030-01-01',
      redemption: { maxUses: 3, windows: [{ start: '2027-01-01T00:00Z', maxUses: '{{seat}}' }] },
      photo: 'https://example.com/{{seat}}.jpg',
    }
    const made = await workspace.ok(createVersion, { params: { id: template.id }, body: { definition: full } })
    expect(made.definition).toMatchObject(full)
    expect(made.definition.design).toMatchObject({ colors: {}, images: {}, barcode: { format: 'qr' }, locations: [] })
    expect((await workspace.ok(get, { params: { id: made.id } })).definition).toEqual(made.definition)
  })

  test('a version without a definition is a copy of the newest, draft or not', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const params = { id: template.id }
    const copy = await workspace.ok(createVersion, { params })
    const original = await workspace.ok(get, { params: { id: template.versionId } })
    expect(copy).toMatchObject({ version: 2, stage: 'draft', definition: original.definition })
    await workspace.ok(update, { params: { id: copy.id }, body: { definition: { design } } })
    const second = await workspace.ok(createVersion, { params, body: {} })
    expect(second).toMatchObject({ version: 3, definition: { design } })
  })

  testOnce('the first version needs a definition', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const rejection = await workspace.refused(createVersion, { params: { id: template.id } })
    expect(rejection).toMatchObject({
      status: 400,
      errorCode: 'MISSING_REQUIRED_FIELD',
      details: { field: 'definition' },
    })
    const made = await workspace.ok(createVersion, { params: { id: template.id }, body: { definition: { design } } })
    expect(made.version).toBe(1)
  })

  test('a publish happens once and is irreversible', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const params = { id: template.id }
    const draft = await workspace.ok(createVersion, { params, body: { definition: definition() } })
    api.advance(5)
    const published = await workspace.ok(publish, { params: { id: draft.id } })
    const at = api.now.toISOString()
    expect(published).toEqual({ ...draft, stage: 'published', publishedAt: at, updatedAt: at })
    expect(await workspace.ok(get, { params: { id: draft.id } })).toEqual(published)
    expect(await workspace.ok(contract.templates.get, { params })).toMatchObject({ latestPublishedVersion: 1 })

    const version = { params: { id: draft.id } }
    expect(await workspace.refused(publish, version)).toMatchObject(conflict)
    expect(await workspace.refused(remove, version)).toMatchObject(conflict)
    expect(await workspace.refused(update, { ...version, body: { definition: { design } } })).toMatchObject(conflict)
    expect(await workspace.ok(get, version)).toEqual(published)
  })

  test('exactly one of simultaneous publishes succeeds', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const body = { definition: definition() }
    const draft = await workspace.ok(createVersion, { params: { id: template.id }, body })
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => workspace.call(publish, { params: { id: draft.id } })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  })

  test('numbers concurrent versions without gaps, and never reuses a deleted number', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const params = { id: template.id }
    const make = () => workspace.ok(createVersion, { params, body: { definition: { design } } })
    const made = await Promise.all(Array.from({ length: 10 }, make))
    expect(made.map(({ version }) => version).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const last = made.find(({ version }) => version === 10)!
    await workspace.ok(remove, { params: { id: last.id } })
    expect((await make()).version).toBe(11)
  })

  test('the versions of a template are a plain array, newest first', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const query = { templateId: template.id }
    expect(await workspace.ok(list, { query })).toEqual([])
    const draft = await workspace.ok(createVersion, { params: { id: template.id }, body: { definition: { design } } })
    await workspace.ok(publish, { params: { id: draft.id } })
    await workspace.ok(createVersion, { params: { id: template.id } })
    const versions = await workspace.ok(list, { query })
    expect(versions.map(({ version, stage }) => [version, stage])).toEqual([
      [2, 'draft'],
      [1, 'published'],
    ])
    expect(await workspace.refused(list, { query: { templateId: id } })).toMatchObject(notFound)
    expect((await workspace.send('GET', '/v1/template-versions')).status).toBe(400)
  })

  test('an unknown version is 404 TEMPLATE_NOT_FOUND', async () => {
    const workspace = await api.workspace()
    for (const call of [get, remove, publish]) {
      expect(await workspace.refused(call, { params: { id } })).toMatchObject(notFound)
    }
    expect(await workspace.refused(update, { params: { id }, body: { definition: { design } } })).toMatchObject(
      notFound,
    )
  })
})
