import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { compileVersion } from '../../../src/server/pass-content/compile-version.ts'
import { createDefinitions } from '../../../src/server/wallet-sync/definitions.ts'
import type { Store } from '../../../src/storage/store.ts'
import { TemplateVersions } from '../../../src/storage/templates/template-versions-repository.ts'
import { useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { definition, publishedTemplate } from '../fixtures.ts'

test('a workspace with the largest definitions keeps few in memory, and leaves space for others', async () => {
  const reads: string[] = []
  const organizationName = 'x'.repeat(1024 * 1024)
  const templateVersions = {
    async listByIds(workspaceId: string, [id]: string[]) {
      reads.push(`${workspaceId} ${id}`)
      const { design, ...rest } = definition()
      const content = { ...rest, design: workspaceId === 'large' ? { ...design, organizationName } : design }
      return [{ id, version: 1, passType: 'generic', definition: content }]
    },
  }
  const definitions = createDefinitions({ templateVersions } as unknown as Store)
  const findAll = async (workspaceId: string, count: number) => {
    reads.length = 0
    for (let n = count - 1; n >= 0; n -= 1) {
      expect((await definitions.findVersion(workspaceId, `${n}`))?.id).toBe(`${n}`)
    }
    return reads.length
  }
  expect(await findAll('small', 500)).toBe(500)
  expect(await findAll('large', 20)).toBe(20)
  expect(await findAll('large', 3)).toBe(0)
  expect(await findAll('small', 500)).toBe(0)
  // The first request was handled first.
  expect(await findAll('large', 20)).toBeGreaterThan(12)
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a published definition is parsed and compiled once, and again if its JSON differs', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { store, wallets } = api.services
    const read = async () => (await store.templateVersions.listNewestPublished(workspace.id, [template.id]))[0]!
    const first = await read()
    const again = await read()
    expect(again.definition).toBe(first.definition)
    expect(compileVersion(again, wallets)).toBe(compileVersion(first, wallets))
    const json = JSON.stringify({ ...first.definition, expiresAt: '2030-01-31' })
    await api.database.writer('template_versions').where({ id: template.versionId }).update({ definition: json })
    expect((await read()).definition).toMatchObject({ expiresAt: '2030-01-31' })
  })

  test("Google's parts of earlier versions are read once, few at a time, also for a late publish", async () => {
    const workspace = await api.workspace()
    const google = { object: { heroImage: { sourceUri: { uri: 'https://a.example/1.png' } } } }
    const versionWith = async (object?: object) => {
      const content = { ...definition(), ...(object && { google: object }) }
      const version = await workspace.ok(contract.templates.createVersion, {
        params: { id: template.id },
        body: { definition: content },
      })
      return { ...version, publish: () => workspace.ok(contract.templateVersions.publish, { params: version }) }
    }
    const template = await publishedTemplate(workspace, { definition: { ...definition(), google } })
    for (let n = 2; n <= 12; n += 1) await (await versionWith()).publish()
    const late = await versionWith({ object: { linksModuleData: { uris: [{ uri: 'https://a.example', id: 'a' }] } } })
    const { version } = await (await versionWith()).publish()
    const pass = { workspaceId: workspace.id, templateId: template.id, templateVersion: version }
    const listOverrides = vi.spyOn(TemplateVersions.prototype, 'listOverrides')
    onTestFinished(() => void vi.restoreAllMocks())
    const { definitions } = api.services
    const first = { heroImage: { sourceUri: { uri: {} } } }
    for (const _ of [1, 2]) expect(await definitions.listRetired(pass)).toEqual([first])
    await late.publish()
    expect(await definitions.listRetired(pass)).toEqual([{ ...first, linksModuleData: { uris: {} } }])
    expect(listOverrides.mock.calls.map(([, ids]) => ids.length)).toEqual([10, 2, 1])
    expect(await definitions.listRetired({ ...pass, templateVersion: 1 })).toEqual([])
  })
})
