import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass, publishVersion } from '../../fixtures.ts'
import { change, changed, notChanged, read, traces } from './pass-changes.ts'

const upgradeFields = ['templateVersionId', 'variables', 'redemption', 'expiresAt']

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  const makeDraft = (workspace: TestWorkspace, templateId: string, content: DefinitionInput = definition()) =>
    workspace.ok(contract.templates.createVersion, { params: { id: templateId }, body: { definition: content } })

  /** A pass of version 1 whose template has two newer versions. */
  async function withNewerVersions() {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { variables: { seat: 'A1' } })
    const templateId = pass.templateId!
    const versions = [
      await publishVersion(workspace, templateId, definition({ expiresAt: '2030-02-02' })),
      await publishVersion(workspace, templateId, definition({ expiresAt: '2030-03-03', redemption: { maxUses: 3 } })),
    ]
    return { workspace, id: pass.id, templateId, versions }
  }

  test('a pass keeps its version until an upgrade, and shows the newest version number', async () => {
    const { workspace, id, versions } = await withNewerVersions()
    expect(await read(workspace, id)).toMatchObject({ templateVersion: 1, latestTemplateVersion: 3, expiresAt: null })
    await changed(workspace, id, { label: 'Grace', variables: { seat: 'B2' } })
    expect(await read(workspace, id)).toMatchObject({ templateVersion: 1, revision: 2 })
    expect(versions.map(({ version }) => version)).toEqual([2, 3])
  })

  test('upgrades to a version number or to the newest version, with the policies of each', async () => {
    const { workspace, id, versions } = await withNewerVersions()
    const second = { templateVersion: 2, latestTemplateVersion: 3, templateVersionId: versions[0]!.id, revision: 2 }
    expect(await changed(workspace, id, { templateVersion: 2 })).toMatchObject({
      ...second,
      expiresAt: '2030-02-02T23:59:59.999Z',
      redemption: null,
      variables: { seat: 'A1' },
    })
    const third = { templateVersion: 3, templateVersionId: versions[1]!.id, revision: 3 }
    const policies = { expiresAt: '2030-03-03T23:59:59.999Z', redemption: { maxUses: 3 } }
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toMatchObject({ ...third, ...policies })
    expect(await read(workspace, id)).toMatchObject({ ...third, ...policies })
    const [, ...events] = await workspace.events(id)
    for (const [index, { type, data }] of events.entries()) {
      expect([type, data.templateVersionId]).toEqual(['pass.updated', versions[index]!.id])
      expect(data.changedFields.toSorted()).toEqual(upgradeFields.toSorted())
    }
  })

  test('an upgrade with new data is one revision and one event', async () => {
    const { workspace, id } = await withNewerVersions()
    const body = { templateVersion: 'latest' as const, label: 'Grace', variables: { seat: 'C3' } }
    expect(await changed(workspace, id, body)).toMatchObject({ revision: 2, templateVersion: 3, label: 'Grace' })
    const [, { data }, ...others] = (await workspace.events(id)) as [unknown, { data: { changedFields: string[] } }]
    expect([data.changedFields.toSorted(), others]).toEqual([['label', ...upgradeFields].toSorted(), []])
  })

  test('an upgrade to the current version changes nothing', async () => {
    const { workspace, id } = await withNewerVersions()
    await changed(workspace, id, { templateVersion: 3 })
    const before = await traces(workspace, id)
    for (const templateVersion of [3, 'latest'] as const) await changed(workspace, id, { templateVersion })
    expect(await traces(workspace, id)).toEqual(before)
    await changed(workspace, id, { templateVersion: 3, variables: { seat: 'Z9' } })
    const event = (await workspace.events(id)).at(-1)!
    expect(event.data.changedFields).not.toContain('templateVersionId')
  })

  test('an older version is 409 TEMPLATE_VERSION_NOT_NEWER', async () => {
    const { workspace, id, templateId } = await withNewerVersions()
    await changed(workspace, id, { templateVersion: 3 })
    const before = await traces(workspace, id)
    const expected = { status: 409, errorCode: 'TEMPLATE_VERSION_NOT_NEWER' }
    expect(await notChanged(workspace, id, { templateVersion: 1, label: 'x' })).toMatchObject(expected)
    expect(await notChanged(workspace, id, { templateVersion: 2 })).toMatchObject(expected)
    await workspace.ok(contract.templates.delete, { params: { id: templateId } })
    expect(await notChanged(workspace, id, { templateVersion: 2 })).toMatchObject(expected)
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('a number that is not published is 404 TEMPLATE_NOT_FOUND: none, a draft, or beyond every number', async () => {
    const { workspace, id, templateId } = await withNewerVersions()
    await makeDraft(workspace, templateId)
    const before = await traces(workspace, id)
    for (const templateVersion of [4, 5, 2_147_483_648, Number.MAX_SAFE_INTEGER]) {
      const rejection = await notChanged(workspace, id, { templateVersion, label: 'x' })
      expect(rejection).toMatchObject({ status: 404, errorCode: 'TEMPLATE_NOT_FOUND', details: { templateVersion } })
    }
    expect((await change(workspace, id, { templateVersion: Number.MAX_SAFE_INTEGER + 1 })).status).toBe(400)
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('a version number of another template is not accepted', async () => {
    const { workspace, id, templateId } = await withNewerVersions()
    await changed(workspace, id, { templateVersion: 'latest' })
    const other = await issuedPass(workspace)
    for (let n = 2; n <= 5; n += 1) await publishVersion(workspace, other.templateId!, definition())
    expect(await notChanged(workspace, id, { templateVersion: 5 })).toMatchObject({ errorCode: 'TEMPLATE_NOT_FOUND' })
    expect(await read(workspace, id)).toMatchObject({ templateId, templateVersion: 3, latestTemplateVersion: 3 })
  })

  test('latest is the highest published number, in any publish order, without drafts', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace)
    const drafts = [await makeDraft(workspace, templateId!), await makeDraft(workspace, templateId!)]
    await makeDraft(workspace, templateId!)
    const publish = (index: number) =>
      workspace.ok(contract.templateVersions.publish, { params: { id: drafts[index]!.id } })
    await publish(1)
    await publish(0)
    expect(await read(workspace, id)).toMatchObject({ templateVersion: 1, latestTemplateVersion: 3 })
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toMatchObject({ templateVersion: 3 })
  })

  test('a pass of a deleted template accepts data, but a version is 404 TEMPLATE_NOT_FOUND', async () => {
    const { workspace, id, templateId } = await withNewerVersions()
    await workspace.ok(contract.templates.delete, { params: { id: templateId } })
    expect(await read(workspace, id)).toMatchObject({ templateId, templateVersion: 1, latestTemplateVersion: null })
    const before = await traces(workspace, id)
    for (const templateVersion of [2, 3, 'latest'] as const) {
      const rejection = await notChanged(workspace, id, { templateVersion, label: 'x' })
      expect(rejection).toMatchObject({ status: 404, errorCode: 'TEMPLATE_NOT_FOUND' })
    }
    await changed(workspace, id, { templateVersion: 1 })
    expect(await traces(workspace, id)).toEqual(before)
    expect(await changed(workspace, id, { label: 'Grace', variables: { seat: 'B2' } })).toMatchObject({ revision: 2 })
  })

  test('an upgrade needs the newly required values, and the result is checked against the new version', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace, { variables: { seat: 'A1', gate: 7 } })
    const variables = [
      { name: 'seat', label: 'Seat', maxLength: 1 },
      { name: 'gate', label: 'Gate' },
      { name: 'zone', label: 'Zone', required: true },
    ]
    const fields = { primary: [{ key: 'zone', value: '{{zone}}{{gate}}{{seat}}' }] }
    const design = { organizationName: 'O', description: 'D', fields }
    await publishVersion(workspace, templateId!, { variables, design })
    const before = await traces(workspace, id)
    const rejection = await notChanged(workspace, id, { templateVersion: 'latest' })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    const { issues } = rejection.details as { issues: { path: string[] }[] }
    expect(issues.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'variables.gate',
      'variables.seat',
      'variables.zone',
    ])
    // The pass still shows a version without these variables.
    await notChanged(workspace, id, { templateVersion: 'latest', variables: { zone: 'N' } })
    expect(await traces(workspace, id)).toEqual(before)
    const body = { templateVersion: 2, variables: { zone: 'N', gate: null, seat: '1' } }
    expect(await changed(workspace, id, body)).toMatchObject({ variables: { zone: 'N', seat: '1' }, revision: 2 })
  })

  test('an upgrade accepts data that only the new version allows', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace)
    await publishVersion(
      workspace,
      templateId!,
      definition({ variables: [{ name: 'tier', label: 'Tier' }], design: { organizationName: 'O', description: 'D' } }),
    )
    const variables = { seat: 'x'.repeat(100) }
    expect(await notChanged(workspace, id, { variables })).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
    expect(await changed(workspace, id, { variables, templateVersion: 'latest' })).toMatchObject({ variables })
  })

  test('a dry run of an upgrade shows the new version and stores nothing', async () => {
    const { workspace, id, versions } = await withNewerVersions()
    const before = await traces(workspace, id)
    const dry = await changed(workspace, id, { templateVersion: 'latest' }, true)
    expect(dry).toMatchObject({
      revision: 2,
      templateVersion: 3,
      templateVersionId: versions[1]!.id,
      redemption: { maxUses: 3 },
    })
    expect(await traces(workspace, id)).toEqual(before)
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toEqual(dry)
  })
})
