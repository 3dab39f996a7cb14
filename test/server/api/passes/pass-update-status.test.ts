import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { PassStatus } from '../../../../src/core/contract/schemas/common.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { claimIssuing, definition, issuedPass, makePass, publishedTemplate, publishVersion } from '../../fixtures.ts'
import { change, changed, notChanged, read, traces } from './pass-changes.ts'

const design = { organizationName: 'O', description: 'D' }

const expiring = definition({
  variables: [{ name: 'until', label: 'Until' }],
  design,
  expiresAt: '{{until}}',
})

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test('a void pass cannot change: 409 PASS_ALREADY_VOIDED, for any body', async () => {
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

  /** Creates a pass whose empty seat makes its description invalid. */
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
    expect(hostedLinks).toEqual({ apple: null, google: null, smart: null, group: null })
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

  test('identical values also retry a failed pass, without a new revision; an empty body does not', async () => {
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
    'a pass that is %s is valid again when its expiry moves into the future',
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

  test('a pass whose expiry is removed is valid again', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { definition: expiring, variables: { until: '2020-01-01' } })
    await api.services.store.transaction((tx) => tx.passes.expire(api.now, 1000))
    expect((await read(workspace, id)).status).toBe('EXPIRED')
    const live = await changed(workspace, id, { variables: { until: null } })
    expect(live).toMatchObject({ status: 'ISSUED', expiresAt: null })
  })

  test('a pass whose expiry moves into the past is EXPIRED immediately, without links', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { definition: expiring, variables: { until: '2036-01-01' } })
    const expired = await changed(workspace, id, { variables: { until: '2020-01-01' } })
    expect(expired).toMatchObject({
      status: 'EXPIRED',
      hostedLinks: { apple: null, google: null, smart: null, group: null },
    })
    expect(await read(workspace, id)).toEqual(expired)
  })

  test('an upgrade revives an expired pass if the new version allows it', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace, {
      definition: definition({ design, expiresAt: '2020-01-01' }),
    })
    await publishVersion(workspace, templateId!, definition({ design, expiresAt: '2036-01-01' }))
    expect(await changed(workspace, id, { templateVersion: 'latest' })).toMatchObject({ status: 'ISSUED', revision: 2 })
  })

  test.each(['QUEUED', 'ISSUING'] satisfies PassStatus[])(
    'a change of a pass that is %s is issued instead of the older state of a worker',
    async (status) => {
      const workspace = await api.workspace()
      const { id: templateId } = await publishedTemplate(workspace)
      const { id } = await makePass(workspace, templateId)
      const { store, issuing } = api.services
      const claimed = status === 'ISSUING' ? await claimIssuing(workspace) : []
      const outcomes = await issuing.prepare(workspace.id, [id], api.now)
      expect(await changed(workspace, id, { variables: { seat: 'B2' } })).toMatchObject({ status, revision: 2 })
      const cause = { at: api.now, correlationIdOf: () => null }
      const again = await store.transaction((tx) => issuing.write(tx, workspace.id, outcomes, cause))
      expect([again, (await read(workspace, id)).status]).toEqual([[id], status])
      if (status === 'ISSUING') await store.transaction((tx) => tx.jobs.snooze(claimed, api.now))
      await api.runJobs()
      expect(await read(workspace, id)).toMatchObject({ status: 'ISSUED', revision: 2 })
      const events = await workspace.events(id)
      expect(events.map(({ type }) => type)).toEqual(['pass.updated', 'pass.issued'])
      expect(events[1]!.data.variables).toEqual({ seat: 'B2' })
    },
  )
})
