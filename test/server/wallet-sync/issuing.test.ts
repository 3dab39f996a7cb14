import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { definition, issuedPass, makePass, makeProject, passBody, publishedTemplate } from '../fixtures.ts'

const { create, get } = contract.passes
const DAY_SECONDS = 86_400

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a pass changes from QUEUED to ISSUED once, with the links of an installable pass', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const queued = await makePass(workspace, template.id)
    api.advance(2)
    await api.runJobs()
    const issued = await workspace.ok(get, { params: { id: queued.id } })
    expect(issued).toMatchObject({ status: 'ISSUED', revision: 1, updatedAt: api.now.toISOString() })
    expect(issued.version).toBeGreaterThan(queued.version)
    const { group, ...links } = issued.hostedLinks
    expect([Object.values(links).every(Boolean), group]).toEqual([true, null])
    expect((await workspace.call(get, { params: { id: queued.id } })).headers.get('etag')).toBe('"1"')
    await api.runJobs()
    expect(await workspace.ok(get, { params: { id: queued.id } })).toEqual(issued)
    expect(await api.database.writer('jobs').where({ workspace_id: workspace.id })).toEqual([])
  })

  test('pass.issued has exactly the specified fields', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const content = { ...definition(), expiresAt: '2027-05-31', redemption: { maxUses: 2 } }
    const template = await publishedTemplate(workspace, { projectId: project.id, definition: content })
    const body = passBody(template.id, { variables: { seat: 'A1', extra: [1] } })
    const correlation = { 'x-correlation-id': 'order-4711' }
    const pass = (await workspace.call(create, { body }, correlation)).body as { id: string; createdAt: string }
    api.advance(3)
    await api.runJobs()
    expect(await workspace.events(pass.id)).toEqual([
      {
        type: 'pass.issued',
        correlationId: 'order-4711',
        data: {
          id: pass.id,
          externalPassId: body.externalPassId,
          templateId: template.id,
          templateVersionId: template.versionId,
          projectId: project.id,
          variables: { seat: 'A1', extra: [1] },
          redemption: { maxUses: 2 },
          expiresAt: '2027-05-31T23:59:59.999Z',
          createdAt: pass.createdAt,
        },
      },
    ])
  })

  test('a pass that no phone would accept is FAILED, with the reason in pass.failed; others are not affected', async () => {
    const workspace = await api.workspace()
    const variables = [{ name: 'what', label: 'What it is', default: 'Ticket' }]
    // Apple requires a description. This one is empty if the pass has no value.
    const content = { variables, design, apple: { description: '{{what}}' } }
    const template = await publishedTemplate(workspace, { definition: content })
    const sound = await makePass(workspace, template.id)
    const broken = await makePass(workspace, template.id, { variables: { what: '' } })
    await api.runJobs()
    expect(await workspace.ok(get, { params: { id: sound.id } })).toMatchObject({ status: 'ISSUED' })
    const failed = await workspace.ok(get, { params: { id: broken.id } })
    expect(failed).toMatchObject({
      status: 'FAILED',
      hostedLinks: { apple: null, google: null, smart: null, group: null },
    })
    expect(await workspace.events(broken.id)).toEqual([
      {
        type: 'pass.failed',
        correlationId: expect.any(String),
        data: {
          id: broken.id,
          externalPassId: broken.externalPassId,
          templateId: template.id,
          templateVersionId: template.versionId,
          projectId: null,
          error: { code: 'PASS_ISSUING_FAILED', message: expect.stringContaining('description') },
        },
      },
    ])
  })

  test('an issued pass is EXPIRED for every reader from its expiry on, before any sweep', async () => {
    const workspace = await api.workspace()
    const expiresAt = new Date(api.now.getTime() + DAY_SECONDS * 1000).toISOString()
    const pass = await issuedPass(workspace, { definition: { design, expiresAt } })
    expect(pass).toMatchObject({ status: 'ISSUED', expiresAt })
    api.advance(DAY_SECONDS - 1)
    const { status } = await workspace.ok(get, { params: { id: pass.id } })
    expect(status).toBe('ISSUED')
    api.advance(1)
    const expired = await workspace.ok(get, { params: { id: pass.id } })
    expect(expired).toMatchObject({
      status: 'EXPIRED',
      hostedLinks: { apple: null, google: null, smart: null, group: null },
    })

    await api.services.store.transaction((tx) => tx.passes.expire(api.now, 100))
    const swept = await workspace.ok(get, { params: { id: pass.id } })
    expect(swept).toMatchObject({ status: 'EXPIRED', revision: 1 })
    expect(swept.version).toBeGreaterThan(expired.version)
    expect((await workspace.events(pass.id)).map(({ type }) => type)).toEqual(['pass.issued'])
  })

  test('a pass that is already past its expiry is issued and reads as EXPIRED', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, { definition: { design, expiresAt: '2020-01-01' } })
    expect(pass.status).toBe('EXPIRED')
  })

  test('issues a pass for Google if an override completes a text that only translations bring', async () => {
    const workspace = await api.workspace()
    const translatedValues = [{ language: 'fr', value: 'Compagnie' }]
    const content = {
      languages: { default: 'en', others: ['de'] },
      design: { organizationName: { en: 'Company', de: 'Firma' }, description: 'D' },
      google: { class: { localizedIssuerName: { translatedValues } } },
    }
    const { id, status } = await issuedPass(workspace, { passType: 'coupon', definition: content })
    expect(status).toBe('ISSUED')
    expect((await workspace.ok(contract.passes.wallets, { params: { id } })).lastError).toBeNull()
  })

  test('an unknown pass is 404 PASS_NOT_FOUND', async () => {
    const workspace = await api.workspace()
    const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
    const expected = { status: 404, errorCode: 'PASS_NOT_FOUND', details: { passId: id } }
    expect(await workspace.refused(get, { params: { id } })).toMatchObject(expected)
    expect(await workspace.refused(get, { params: { id: id.toUpperCase() } })).toMatchObject(expected)
  })

  test('each of many passes shows only its own values', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const make = (marker: string) =>
      makePass(workspace, template.id, { label: `label-${marker}`, variables: { seat: marker } })
    const passes = [await make('MARK-A'), await make('MARK-B')]
    await api.runJobs()
    const rendered = await Promise.all(
      passes.map(async ({ id }) => {
        const stored = (await api.services.store.passes.find(workspace.id, id))!
        const walletPass = await api.services.issuing.render(stored)
        const { apple, google } = api.services.wallets
        return JSON.stringify([
          apple!.passJson(walletPass),
          google!.objectOf(walletPass, api.now),
          google!.classOf(walletPass),
        ])
      }),
    )
    expect(rendered[0]).toContain('MARK-A')
    expect(rendered[0]).not.toContain('MARK-B')
    expect(rendered[1]).toContain('MARK-B')
    expect(rendered[1]).not.toContain('MARK-A')
  })
})

const design = { organizationName: 'O', description: 'D' }
