import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import type { PassStatus } from '../../src/core/contract/pass-status.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { dialects } from '../support/databases.ts'
import { definition, issuedPass, makePass, makeProject, publishedTemplate, publishVersion } from './fixtures.ts'
import { change, changed, identifiers, notChanged, read, traces } from './pass-changes.ts'

const design = { organizationName: 'O', description: 'D' }

const expiring = definition({
  variables: [{ name: 'until', label: 'Until' }],
  design,
  expiresAt: '{{until}}',
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a void pass is not changed: 409 PASS_ALREADY_VOIDED, whatever the body holds', async () => {
    const workspace = await api.workspace()
    const { id, label } = await issuedPass(workspace)
    await workspace.ok(contract.passes.void, { params: { id } })
    const before = await traces(workspace, id)
    for (const body of [{ label: 'x' }, { label }, {}, { templateVersion: 'latest' }, { templateVersion: 9 }]) {
      expect(await notChanged(workspace, id, body)).toMatchObject({ status: 409, errorCode: 'PASS_ALREADY_VOIDED' })
    }
    expect((await change(workspace, id, { label: 'x' }, { ifMatch: '2' })).status).toBe(412)
    expect(await traces(workspace, id)).toEqual(before)
  })

  /** A pass whose empty seat makes a description that no phone would take. */
  async function failedPass(workspace: TestWorkspace) {
    const broken = {
      ...definition({ variables: [{ name: 'seat', label: 'Seat', default: 'x' }], design }),
      apple: { description: '{{seat}}' },
    }
    const pass = await issuedPass(workspace, { definition: broken, variables: { seat: '' } })
    expect(pass.status).toBe('FAILED')
    return pass
  }

  test('a failed pass is queued again by a change, and issued with it', async () => {
    const workspace = await api.workspace()
    const { id, hostedLinks } = await failedPass(workspace)
    expect(hostedLinks).toEqual({ apple: null, google: null, smart: null })
    const dry = await changed(workspace, id, { variables: { seat: 'A1' } }, true)
    expect(dry).toMatchObject({ status: 'QUEUED', revision: 2 })
    expect(await read(workspace, id)).toMatchObject({ status: 'FAILED', revision: 1 })

    const queued = await changed(workspace, id, { variables: { seat: 'A1' } })
    expect(queued).toEqual(dry)
    const { pass, jobs } = await traces(workspace, id)
    expect([pass.error, jobs.map(({ kind }) => kind)]).toEqual([null, ['issue-pass']])
    await api.runJobs()
    expect(await read(workspace, id)).toMatchObject({ status: 'ISSUED', revision: 2 })
    const types = (await workspace.events(id)).map(({ type }) => type)
    expect(types).toEqual(['pass.failed', 'pass.updated', 'pass.issued'])
  })

  test('a failed pass is tried again by identical values too, without a new revision; by nothing it is not', async () => {
    const workspace = await api.workspace()
    const { id, label } = await failedPass(workspace)
    const before = await traces(workspace, id)
    await changed(workspace, id, {})
    await changed(workspace, id, { templateVersion: 1 })
    expect(await traces(workspace, id)).toEqual(before)
    api.advance(5)
    const dry = await changed(workspace, id, { label }, true)
    expect(await changed(workspace, id, { label })).toEqual(dry)
    expect(dry).toMatchObject({ status: 'QUEUED', revision: 1 })
    await api.runJobs()
    expect(await read(workspace, id)).toMatchObject({ status: 'FAILED', revision: 1 })
    const types = (await workspace.events(id)).map(({ type }) => type)
    expect(types).toEqual(['pass.failed', 'pass.updated', 'pass.failed'])
  })

  test('a pass that was queued again twice is issued once', async () => {
    const workspace = await api.workspace()
    const { id } = await failedPass(workspace)
    await changed(workspace, id, { variables: { seat: 'A1' } })
    await changed(workspace, id, { variables: { seat: 'A2' } })
    await api.runJobs()
    const types = (await workspace.events(id)).map(({ type }) => type)
    expect(types).toEqual(['pass.failed', 'pass.updated', 'pass.updated', 'pass.issued'])
  })

  test.each(['swept', 'past its expiry and not swept yet'])(
    'a pass that is %s lives again when its expiry moves into the future',
    async (state) => {
      const workspace = await api.workspace()
      const { id } = await issuedPass(workspace, { definition: expiring, variables: { until: '2026-03-02' } })
      api.advance(2 * 86_400)
      if (state === 'swept') await api.services.store.transaction((tx) => tx.passes.expire(api.now, 1000))
      expect((await read(workspace, id)).status).toBe('EXPIRED')

      await changed(workspace, id, { label: 'still expired' })
      expect((await read(workspace, id)).status).toBe('EXPIRED')
      const body = { variables: { until: '2036-01-01' } }
      const dry = await changed(workspace, id, body, true)
      const live = await changed(workspace, id, body)
      expect(live).toEqual(dry)
      expect(live).toMatchObject({ status: 'ISSUED', revision: 3, expiresAt: '2036-01-01T23:59:59.999Z' })
      expect(live.hostedLinks.smart).not.toBe(null)
      const types = (await workspace.events(id)).map(({ type }) => type)
      expect(types).toEqual(['pass.issued', 'pass.updated', 'pass.updated'])
    },
  )

  test('a pass whose expiry is taken away lives again', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { definition: expiring, variables: { until: '2020-01-01' } })
    await api.services.store.transaction((tx) => tx.passes.expire(api.now, 1000))
    expect((await read(workspace, id)).status).toBe('EXPIRED')
    const live = await changed(workspace, id, { variables: { until: null } })
    expect(live).toMatchObject({ status: 'ISSUED', expiresAt: null })
  })

  test('a pass whose expiry moves into the past reads as EXPIRED at once, without links', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { definition: expiring, variables: { until: '2036-01-01' } })
    const expired = await changed(workspace, id, { variables: { until: '2020-01-01' } })
    expect(expired).toMatchObject({ status: 'EXPIRED', hostedLinks: { apple: null, google: null, smart: null } })
    expect(await read(workspace, id)).toEqual(expired)
  })

  test('an upgrade revives an expired pass when the new version says so', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace, {
      definition: definition({ design, expiresAt: '2020-01-01' }),
    })
    await publishVersion(workspace, templateId!, definition({ design, expiresAt: '2036-01-01' }))
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toMatchObject({ status: 'ISSUED', revision: 2 })
  })

  test('expiry and policy are resolved anew from whatever they are made of', async () => {
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
    // The label alone reaches both.
    expect(await changed(workspace, id, { label: '2031-01-01' })).toMatchObject({
      expiresAt: '2031-01-01T23:59:59.999Z',
      redemption: { windows: [{ end: '2031-01-01T23:59:59.999Z' }] },
      revision: 3,
    })
  })

  test.each([
    ['an expiry that is no date', { label: 'soon' }, 'expiresAt'],
    ['a policy out of bounds', { variables: { uses: '0' } }, 'redemption'],
    ['a policy without its number', { variables: { uses: null } }, 'redemption'],
  ])('%s is refused, and nothing is written', async (_, body, where) => {
    const workspace = await api.workspace()
    const content = definition({
      variables: [{ name: 'uses', label: 'Uses' }],
      design,
      expiresAt: '{{pass.label}}',
      redemption: { maxUses: '{{uses}}' },
    })
    const { id } = await issuedPass(workspace, { definition: content, label: '2030-01-01', variables: { uses: '3' } })
    const before = await traces(workspace, id)
    const refusal = await notChanged(workspace, id, body)
    expect(refusal).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    expect((refusal.details as { issues: { path: string[] }[] }).issues[0]!.path[0]).toBe(where)
    expect(await traces(workspace, id)).toEqual(before)
  })

  const digest = (text: string) => createHash('sha256').update(text).digest('hex')

  test('when the barcode says something else, the new is active and the old is stale; and back again', async () => {
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

  test('two passes may come to read the same; each keeps its own identifiers', async () => {
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

  test('the project of a pass stays where the pass was made', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const { id, templateId } = await issuedPass(workspace, { projectId: project.id })
    await workspace.ok(contract.templates.update, { params: { id: templateId! }, body: { projectId: null } })
    await publishVersion(workspace, templateId!, definition())
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toMatchObject({ projectId: project.id })
  })

  test.each(['QUEUED', 'ISSUING'] satisfies PassStatus[])(
    'a change of a pass that is %s is what gets issued, and a worker’s older picture of it is not',
    async (status) => {
      const workspace = await api.workspace()
      const { id: templateId } = await publishedTemplate(workspace)
      const { id } = await makePass(workspace, templateId)
      const { store, issuing } = api.services
      if (status === 'ISSUING') {
        await store.transaction((tx) => tx.passes.setIssuing(workspace.id, [id], api.now))
      }
      const outcomes = await issuing.prepare(workspace.id, [id], api.now)
      expect(await changed(workspace, id, { variables: { seat: 'B2' } })).toMatchObject({ status, revision: 2 })
      const cause = { at: api.now, correlationIdOf: () => null }
      const again = await store.transaction((tx) => issuing.write(tx, workspace.id, outcomes, cause))
      expect([again, (await read(workspace, id)).status]).toEqual([[id], status])
      await api.runJobs()
      expect(await read(workspace, id)).toMatchObject({ status: 'ISSUED', revision: 2 })
      const events = await workspace.events(id)
      expect(events.map(({ type }) => type)).toEqual(['pass.updated', 'pass.issued'])
      expect(events[1]!.data.variables).toEqual({ seat: 'B2' })
    },
  )
})
