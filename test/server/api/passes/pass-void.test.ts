import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { PassStatus } from '../../../../src/core/contract/schemas/common.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, testOn } from '../../../support/databases.ts'
import { claimIssuing, definition, issuedPass, makePass, publishedTemplate } from '../../fixtures.ts'
import { read, traces } from './pass-changes.ts'

const { void: voidPass } = contract.passes
const noLinks = { apple: null, google: null, smart: null, group: null }

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const testOnce = testOn(dialect)

  test('a void pass reports it, keeps its revision, and its event has the reason', async () => {
    const workspace = await api.workspace()
    const { id, externalPassId, label } = await issuedPass(workspace)
    const before = await traces(workspace, id)
    api.advance(60)
    const headers = { 'x-correlation-id': 'my-void' }
    const answer = await workspace.call(voidPass, { params: { id }, body: { reason: 'Lost 🎟️' } }, headers)
    expect([answer.status, answer.body]).toEqual([200, { id, status: 'VOID' }])
    const updatedAt = api.now.toISOString()
    expect(await read(workspace, id)).toMatchObject({
      status: 'VOID',
      revision: 1,
      label,
      updatedAt,
      hostedLinks: noLinks,
    })
    const after = await traces(workspace, id)
    expect(after.pass.wallet_version).toBe(before.pass.wallet_version + 1)
    expect(after.pass.version).toBe(before.pass.version + 1)
    const event = { type: 'pass.voided', data: { id, externalPassId, reason: 'Lost 🎟️' }, correlationId: 'my-void' }
    expect(after.events.slice(before.events.length)).toEqual([event])
    expect({ ...after, pass: 0, events: 0 }).toEqual({ ...before, pass: 0, events: 0 })
  })

  testOnce.each([undefined, {}])('without a reason it is null: body %j', async (body) => {
    const workspace = await api.workspace()
    const { id, externalPassId } = await issuedPass(workspace)
    await workspace.ok(voidPass, { params: { id }, ...(body && { body }) })
    expect((await workspace.events(id)).at(-1)!.data).toEqual({ id, externalPassId, reason: null })
  })

  testOnce.each([{ reason: '' }, { reason: 'x'.repeat(256) }, { reason: null }, { reason: 5 }, { why: 'x' }, []])(
    'rejects the body %j and does not change the pass',
    async (body) => {
      const workspace = await api.workspace()
      const { id } = await issuedPass(workspace)
      const before = await traces(workspace, id)
      const rejection = await workspace.refused(voidPass, { params: { id }, body: body as never })
      expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
      expect(await traces(workspace, id)).toEqual(before)
    },
  )

  testOnce('a reason has up to 255 code points', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    await workspace.ok(voidPass, { params: { id }, body: { reason: '😀'.repeat(255) } })
    expect((await workspace.events(id)).at(-1)!.data.reason).toBe('😀'.repeat(255))
  })

  test.each(PassStatus.exclude(['VOID']).options)('a pass that is %s can be voided, and stays void', async (status) => {
    const workspace = await api.workspace()
    const id = await passThatIs(workspace, status)
    expect((await read(workspace, id)).status).toBe(status)
    await workspace.ok(voidPass, { params: { id } })
    await api.runJobs()
    await api.services.store.transaction((tx) => tx.passes.expire(api.now, 1000))
    expect(await read(workspace, id)).toMatchObject({ status: 'VOID', hostedLinks: noLinks })
    expect((await workspace.events(id)).at(-1)!.type).toBe('pass.voided')
  })

  test('the second time is 409 PASS_ALREADY_VOIDED, and nothing happens', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    await workspace.ok(voidPass, { params: { id }, body: { reason: 'first' } })
    const before = await traces(workspace, id)
    const rejection = await workspace.refused(voidPass, { params: { id }, body: { reason: 'second' } })
    expect(rejection).toMatchObject({ status: 409, errorCode: 'PASS_ALREADY_VOIDED', details: { passId: id } })
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('one of ten simultaneous requests succeeds', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => workspace.call(voidPass, { params: { id }, body: { reason: `${n}` } })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(409)])
    expect((await workspace.events(id)).filter(({ type }) => type === 'pass.voided')).toHaveLength(1)
  })

  testOnce('its links return 410 LINK_REVOKED as a page to browsers, and as an error to programs', async () => {
    const workspace = await api.workspace()
    const { id, hostedLinks } = await issuedPass(workspace)
    await workspace.ok(voidPass, { params: { id } })
    for (const link of Object.values(hostedLinks).filter((one) => one !== null)) {
      const path = new URL(link!).pathname
      const page = await api.send('GET', path)
      expect([page.status, page.headers.get('content-type')]).toEqual([410, 'text/html; charset=utf-8'])
      const headers = { accept: 'application/json' }
      expect(await api.send('GET', path, { headers })).toMatchObject({
        status: 410,
        body: { errorCode: 'LINK_REVOKED' },
      })
    }
  })

  test('an unknown pass, and one of another workspace, is 404 PASS_NOT_FOUND', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const { id } = await issuedPass(workspace)
    const expected = { status: 404, errorCode: 'PASS_NOT_FOUND' }
    expect(await other.refused(voidPass, { params: { id } })).toMatchObject(expected)
    const unknown = { params: { id: '018f2f5e-7c1a-7000-8000-0123456789ab' } }
    expect(await workspace.refused(voidPass, unknown)).toMatchObject(expected)
    expect((await read(workspace, id)).status).toBe('ISSUED')
  })

  async function passThatIs(workspace: TestWorkspace, status: Exclude<PassStatus, 'VOID'>): Promise<string> {
    const { store } = api.services
    if (status === 'ISSUED') return (await issuedPass(workspace)).id
    if (status === 'EXPIRED') {
      const { id } = await issuedPass(workspace, { definition: definition({ expiresAt: '2020-01-01' }) })
      return id
    }
    const template = await publishedTemplate(workspace)
    const { id } = await makePass(workspace, template.id)
    const error = { code: 'PASS_ISSUING_FAILED', message: 'unusable' } as const
    if (status === 'ISSUING') await claimIssuing(workspace)
    if (status === 'FAILED') await store.transaction((tx) => tx.passes.setFailed(workspace.id, id, error, api.now))
    return id
  }
})
