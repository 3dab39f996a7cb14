import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, makeProject, publishedTemplate, publishVersion } from '../../fixtures.ts'
import { changed, identifiers, notChanged, traces } from './pass-changes.ts'

const design = { organizationName: 'O', description: 'D' }

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('expiry and policy are resolved again from all their sources', async () => {
    const workspace = await api.workspace()
    const content = definition({
      variables: ['uses', 'opens'].map((name) => ({ name, label: name })),
      design,
      expiresAt: '{{pass.label}}',
      redemption: { maxUses: '{{uses}}', windows: [{ start: '{{opens}}', end: '{{pass.expiresAt}}' }] },
    })
    const { id } = await issuedPass(workspace, {
      definition: content,
      label: '2030-01-01',
      variables: { uses: '3', opens: '2027-05-01T08:00Z' },
    })
    expect((await traces(workspace, id)).windows).toEqual(['2027-05-01'])
    const pass = await changed(workspace, id, { variables: { uses: '4', opens: '2027-06-02T00:30+02:00' } })
    const windows = [{ start: '2027-06-02T00:30+02:00', end: '2030-01-01T23:59:59.999Z' }]
    expect(pass.redemption).toEqual({ maxUses: 4, windows })
    const after = await traces(workspace, id)
    expect(after.windows).toEqual(['2027-06-02'])
    expect(after.variables).toEqual([
      { name: 'opens', value: '2027-06-02T00:30+02:00' },
      { name: 'uses', value: '4' },
    ])
    // A new label alone changes both fields.
    expect(await changed(workspace, id, { label: '2031-01-01' })).toMatchObject({
      expiresAt: '2031-01-01T23:59:59.999Z',
      redemption: { windows: [{ end: '2031-01-01T23:59:59.999Z' }] },
      revision: 3,
    })
  })

  test.each([
    ['an expiry that is not a date', { label: 'soon' }, 'expiresAt'],
    ['a policy out of bounds', { variables: { uses: '0' } }, 'variables'],
    ['a policy without a required number', { variables: { uses: null } }, 'variables'],
  ])('rejects %s and writes nothing', async (_, body, where) => {
    const workspace = await api.workspace()
    const content = definition({
      variables: [{ name: 'uses', label: 'Uses' }],
      design,
      expiresAt: '{{pass.label}}',
      redemption: { maxUses: '{{uses}}' },
    })
    const { id } = await issuedPass(workspace, { definition: content, label: '2030-01-01', variables: { uses: '3' } })
    const before = await traces(workspace, id)
    const rejection = await notChanged(workspace, id, body)
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    expect((rejection.details as { issues: { path: string[] }[] }).issues[0]!.path[0]).toBe(where)
    expect(await traces(workspace, id)).toEqual(before)
  })

  const digest = (text: string) => createHash('sha256').update(text).digest('hex')

  test('a changed barcode payload becomes active and the old one stale, and back again', async () => {
    const workspace = await api.workspace()
    const barcode = { message: 'seat-{{seat}}' }
    const variables = [{ name: 'seat', label: 'Seat' }]
    const { id } = await issuedPass(workspace, {
      definition: definition({ variables, design: { ...design, barcode } }),
      variables: { seat: 'A' },
    })
    const [a, b, c] = ['seat-A', 'seat-B', 'seat-C'].map(digest) as [string, string, string]
    expect(await identifiers(workspace, id)).toEqual({ active: [a], stale: [] })
    await changed(workspace, id, { variables: { seat: 'B' } })
    expect(await identifiers(workspace, id)).toEqual({ active: [b], stale: [a] })
    await changed(workspace, id, { variables: { seat: 'C' } })
    expect(await identifiers(workspace, id)).toEqual({ active: [c], stale: [a, b].toSorted() })
    await changed(workspace, id, { variables: { seat: 'A' } })
    expect(await identifiers(workspace, id)).toEqual({ active: [a], stale: [b, c].toSorted() })
    await changed(workspace, id, { label: 'another', variables: { other: 1 } })
    expect(await identifiers(workspace, id)).toEqual({ active: [a], stale: [b, c].toSorted() })
  })

  test('an upgrade that gives the barcode another message makes the scan code stale', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace, { externalPassId: 'ext-7' })
    const { scan_code: scanCode } = (await traces(workspace, id)).pass
    expect(await identifiers(workspace, id)).toEqual({ active: [digest(scanCode)], stale: [] })
    const barcode = { message: '{{pass.externalPassId}}' }
    await publishVersion(workspace, templateId!, definition({ variables: [], design: { ...design, barcode } }))
    await changed(workspace, id, { templateVersion: 'latest' })
    expect(await identifiers(workspace, id)).toEqual({ active: [digest('ext-7')], stale: [digest(scanCode)] })
  })

  test('two passes can get the same payload; each keeps its own identifiers', async () => {
    const workspace = await api.workspace()
    const barcode = { message: '{{seat}}' }
    const content = definition({ variables: [{ name: 'seat', label: 'Seat' }], design: { ...design, barcode } })
    const template = await publishedTemplate(workspace, { definition: content })
    const [one, two] = [
      await makePass(workspace, template.id, { variables: { seat: 'A' } }),
      await makePass(workspace, template.id, { variables: { seat: 'B' } }),
    ]
    await changed(workspace, two.id, { variables: { seat: 'A' } })
    expect(await identifiers(workspace, one.id)).toEqual({ active: [digest('A')], stale: [] })
    expect(await identifiers(workspace, two.id)).toEqual({ active: [digest('A')], stale: [digest('B')] })
  })

  test('a pass stays in its original project', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const { id, templateId } = await issuedPass(workspace, { projectId: project.id })
    await workspace.ok(contract.templates.update, { params: { id: templateId! }, body: { projectId: null } })
    await publishVersion(workspace, templateId!, definition())
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toMatchObject({ projectId: project.id })
  })
})
