import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../../src/core/contract/schemas/definition.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, passBody, publishedTemplate, publishVersion } from '../../fixtures.ts'

const { create, get } = contract.passes

const variables = ['until', 'uses', 'opens', 'zone'].map((name) => ({ name, label: name }))

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  const templateWith = async (workspace: TestWorkspace, parts: Partial<DefinitionInput>) =>
    (await publishedTemplate(workspace, { definition: { ...definition(), variables, design, ...parts } })).id

  test.each([
    ['a timestamp', '2027-05-31T19:30:00+02:00', {}, '2027-05-31T17:30:00.000Z'],
    ['a date alone', '2027-05-31', {}, '2027-05-31T23:59:59.999Z'],
    ['a placeholder with a timestamp', '{{until}}', { until: '2027-05-31T19:30Z' }, '2027-05-31T19:30:00.000Z'],
    ['a placeholder with a date', '{{until}}', { until: '2027-05-31' }, '2027-05-31T23:59:59.999Z'],
    ['a placeholder with nothing', '{{until}}', { until: '' }, null],
    ['a placeholder without a value', '{{until}}', {}, null],
    ['nothing', null, { until: '2027-05-31' }, null],
  ])('resolves an expiry that is %s at creation', async (_, expiresAt, given, expected) => {
    const workspace = await api.workspace()
    const body = passBody(await templateWith(workspace, { expiresAt }), { variables: given })
    const pass = await workspace.ok(create, { body })
    expect(pass.expiresAt).toBe(expected)
    expect((await workspace.ok(get, { params: { id: pass.id } })).expiresAt).toBe(expected)
  })

  test('a date without a time ends in the time zone of the version at create, import, update and upgrade', async () => {
    const workspace = await api.workspace()
    const content = { ...definition(), variables, design, expiresAt: '{{until}}' }
    const template = await publishedTemplate(workspace, { definition: { ...content, timeZone: 'Europe/Lisbon' } })
    const given = { variables: { until: '2031-05-20' } }
    const pass = await workspace.ok(create, { body: passBody(template.id, given) })
    expect(pass.expiresAt).toBe('2031-05-20T22:59:59.999Z')
    const imported = { externalPassId: 'imported', label: 'Ada', ...given }
    const { results } = await workspace.ok(contract.passes.import, {
      body: { templateId: template.id, passes: [imported] },
    })
    expect(results[0]!.pass!.expiresAt).toBe('2031-05-20T22:59:59.999Z')
    const update = (body: object) => workspace.ok(contract.passes.update, { params: { id: pass.id }, body } as never)
    await update({ variables: { until: '2031-12-20' } })
    const expiry = async () => (await workspace.ok(get, { params: { id: pass.id } })).expiresAt
    expect(await expiry()).toBe('2031-12-20T23:59:59.999Z')
    await publishVersion(workspace, template.id, { ...content, timeZone: 'America/New_York' })
    await update({ templateVersion: 'latest' })
    expect(await expiry()).toBe('2031-12-21T04:59:59.999Z')
  })

  test('rejects an invalid expiry with the name of its variable', async () => {
    const workspace = await api.workspace()
    const body = passBody(await templateWith(workspace, { expiresAt: '{{until}}' }), { variables: { until: 'soon' } })
    const rejection = await workspace.refused(create, { body })
    expect(rejection).toMatchObject({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      details: { issues: [{ path: ['variables', 'until'] }] },
    })
  })

  test('resolves the policy of each pass, also numbers from lone placeholders', async () => {
    const workspace = await api.workspace()
    const templateId = await templateWith(workspace, {
      expiresAt: '{{until}}',
      redemption: {
        maxUses: '{{uses}}',
        windows: [{ start: '{{opens}}', end: '{{pass.expiresAt}}' }],
        perPeriod: { unit: 'day', count: 1, timezone: '{{zone}}' },
      },
    })
    const given = { until: '2027-05-31', uses: '3', opens: '2027-05-01T08:00Z', zone: 'Asia/Tokyo' }
    const pass = await workspace.ok(create, { body: passBody(templateId, { variables: given }) })
    const redemption = {
      maxUses: 3,
      windows: [{ start: '2027-05-01T08:00Z', end: '2027-05-31T23:59:59.999Z' }],
      perPeriod: { unit: 'day', count: 1, timezone: 'Asia/Tokyo' },
    }
    expect(pass.redemption).toEqual(redemption)
    expect((await workspace.ok(get, { params: { id: pass.id } })).redemption).toEqual(redemption)

    const bad = { until: '2027-05-31', uses: 'many', opens: 'early', zone: 'Mars/Base' }
    const pathsOf = async (variables: Record<string, string>) => {
      const rejection = await workspace.refused(create, { body: passBody(templateId, { variables }) })
      const { issues } = rejection.details as { issues: { path: string[] }[] }
      return issues.map(({ path }) => path.join('.'))
    }
    expect(await pathsOf(bad)).toEqual(['variables.uses', 'variables.opens', 'variables.zone'])
    expect(await pathsOf({ ...given, zone: 'Mars/Base' })).toEqual(['variables.zone'])
    expect(await pathsOf({ ...given, until: '' })).toEqual(['variables.until'])
    expect(await pathsOf({ ...given, opens: '2027-06-01T08:00Z' })).toEqual(['redemption.windows.0.end'])
  })

  test('an error of composed values names each invalid variable', async () => {
    const workspace = await api.workspace()
    const pathOf = async (expiresAt: string) => {
      const body = passBody(await templateWith(workspace, { expiresAt }), { variables: { until: 'soon', uses: '1' } })
      const rejection = await workspace.refused(create, { body })
      return (rejection.details as { issues: { path: string[] }[] }).issues.map(({ path }) => path.join('.'))
    }
    expect(await pathOf('{{until}}T20:00Z')).toEqual(['variables.until'])
    expect(await pathOf('{{until}}T{{uses}}:00Z')).toEqual(['variables.until', 'variables.uses'])
    expect(await pathOf('{{until}}T{{pass.label}}:00Z')).toEqual(['variables.until'])
    expect(await pathOf('{{pass.label}}')).toEqual(['expiresAt'])
  })

  test.each([
    ['no value', {}],
    ['an empty value', { uses: '' }],
    ['zero', { uses: '0' }],
    ['too many', { uses: '100001' }],
    ['a fraction', { uses: '1.5' }],
    ['a sign', { uses: '-1' }],
  ])('rejects a limit whose placeholder has %s, and never omits it', async (_, given) => {
    const workspace = await api.workspace()
    const templateId = await templateWith(workspace, { redemption: { maxUses: '{{uses}}' } })
    const rejection = await workspace.refused(create, { body: passBody(templateId, { variables: given }) })
    const details = { issues: [{ path: ['variables', 'uses'] }] }
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR', details })
  })
})

const design = { organizationName: 'O', description: 'D' }
