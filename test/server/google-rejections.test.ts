import { afterEach, describe, expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import type { Pass } from '../../src/core/contract/passes.ts'
import { createLocationRejections } from '../../src/server/wallet-sync/google-records.ts'
import { createGoogleSync } from '../../src/server/wallet-sync/google-sync.ts'
import { createIssuing } from '../../src/server/wallet-sync/issuing.ts'
import { createStore } from '../../src/storage/store.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { oneDialect } from '../support/databases.ts'
import { definition, issuedPass, makePass, publishedTemplate } from './fixtures.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  afterEach(() => api.faults.replace([]))

  const open = (pass: Pass) =>
    api.send('GET', new URL(pass.hostedLinks.google!).pathname, { headers: { accept: 'application/json' } })
  const lastErrorOf = async (workspace: TestWorkspace, id: string) =>
    (await workspace.ok(contract.passes.wallets, { params: { id } })).lastError
  const refused = () => ({
    platform: 'google',
    code: 'GOOGLE_API_FAILED',
    message: expect.stringContaining('400'),
    at: api.now.toISOString(),
  })
  const isQueued = async (kind: string, subject: string) =>
    (await api.database.writer('jobs').where({ kind, subject })).length > 0

  /** The services of a server that issues for Google alone. */
  function googleAlone() {
    const { store, wallets, google, clock } = api.services
    const wallet = wallets.google!
    const issuing = createIssuing(store, { ...wallets, apple: undefined, all: [wallet] })
    const sync = createGoogleSync({ api: google!.api, wallet, store, issuing, isOnlyPlatform: true, clock })
    return { issuing, sync }
  }

  test('a class that Google rejected is not retried: version and passes show why until Google accepts it', async () => {
    const workspace = await api.workspace()
    api.faults.replace(['google-400'])
    const pass = await issuedPass(workspace)
    const id = pass.templateVersionId!
    const versionOf = () => workspace.ok(contract.templateVersions.get, { params: { id } })
    expect(pass.status).toBe('ISSUED')
    expect((await versionOf()).lastError).toEqual(refused())
    expect(await lastErrorOf(workspace, pass.id)).toEqual(refused())
    expect(await isQueued('upsert-google-class', id)).toBe(false)
    api.faults.replace([])
    expect((await open(pass)).status).toBe(302)
    expect((await versionOf()).lastError).toBeNull()
    expect(await lastErrorOf(workspace, pass.id)).toBeNull()
  })

  test("a link shows whether Google's rejection of its pass is permanent or an outage that can pass", async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    api.faults.replace(['google-400'])
    const answer = await open(pass)
    expect(answer.status).toBe(502)
    expect(answer.body).toMatchObject({ errorCode: 'GOOGLE_API_FAILED', details: { permanent: true } })
    expect(answer.text).not.toContain('moment')
    expect(answer.headers.get('retry-after')).toBeNull()
    expect(await lastErrorOf(workspace, pass.id)).toEqual(refused())
    api.faults.replace(['google-503'])
    const busy = await open(pass)
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '5'])
  })

  test('fails if the pass has no other platform', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const pass = (await api.services.store.passes.find(workspace.id, id))!
    api.faults.replace(['google-400'])
    await expect(googleAlone().sync.ensure(pass, api.now)).rejects.toMatchObject({ kind: 'invalid' })
    expect(await workspace.ok(contract.passes.get, { params: { id } })).toMatchObject({ status: 'FAILED' })
    const failed = (await workspace.events(id)).at(-1)
    expect(failed).toMatchObject({ type: 'pass.failed', data: { id, error: { code: 'GOOGLE_API_FAILED' } } })
  })

  test('no pass of a version without another platform is issued', async () => {
    const workspace = await api.workspace()
    api.faults.replace(['google-400'])
    const template = await publishedTemplate(workspace)
    await api.runJobs()
    const { id } = await makePass(workspace, template.id)
    const [outcome] = await googleAlone().issuing.prepare(workspace.id, [id], api.now)
    expect(outcome?.error?.code).toBe('GOOGLE_API_FAILED')
  })

  test('an issuer whose passes cannot have locations is rejected once, for all processes, until that ends', async () => {
    const workspace = await api.workspace()
    const design = { ...definition().design, locations: [{ latitude: 38.7, longitude: -9.1 }] }
    const template = await publishedTemplate(workspace, { definition: definition({ design }) })
    await api.runJobs()
    const openOne = async () => {
      const { id } = await makePass(workspace, template.id)
      await api.runJobs()
      const pass = await workspace.ok(contract.passes.get, { params: { id } })
      expect((await open(pass)).status).toBe(302)
      expect(await lastErrorOf(workspace, id)).toBeNull()
      const preview = await workspace.ok(contract.passes.preview, { params: { id }, query: { platform: 'google' } })
      return (preview as unknown as { google: { object: { id: string } } }).google.object.id
    }
    const hasLocations = async (id: string) =>
      'merchantLocations' in (await api.services.google!.api.getObject('generic', id))
    const first = await openOne()
    expect(await hasLocations(first)).toBe(true)

    api.faults.replace(['google-locations'])
    expect(await hasLocations(await openOne())).toBe(false)
    // Google would accept the objects now. The server must not call it again.
    api.faults.replace([])
    expect(await hasLocations(await openOne())).toBe(false)
    const rejections = createLocationRejections(createStore(api.database), () => api.now)
    const [issuerId = ''] = first.split('.')
    expect(await rejections.find(issuerId)).toEqual({
      message: expect.stringContaining('not allowlisted for Merchant Locations'),
      at: api.now.toISOString(),
    })
    await rejections.clear(issuerId)
    expect(await hasLocations(await openOne())).toBe(true)
  })

  test('accepts a pass without a barcode and with empty values, and its changes', async () => {
    const workspace = await api.workspace()
    const { id, ...pass } = await issuedPass(workspace, {
      definition: definition({
        design: { ...definition().design, barcode: null },
        google: { object: { barcode: null, textModulesData: [{ id: 'seat', header: 'Seat', body: '{{seat}}' }] } },
      }),
    })
    expect((await open({ id, ...pass })).status).toBe(302)
    await workspace.ok(contract.passes.update, { params: { id }, body: { variables: { seat: '12A' } } })
    await workspace.ok(contract.passes.update, { params: { id }, body: { variables: { seat: null } } })
    await api.runJobs()
    const { google, walletVersion } = await workspace.ok(contract.passes.wallets, { params: { id } })
    expect(google).toMatchObject({ sentVersion: walletVersion, lastError: null })
  })

  test('values that only Google rejects do not affect the Apple pass', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace, {
      definition: {
        variables: [{ name: 'cents', label: 'Cents' }],
        design: { organizationName: 'Harbour Cinema', description: 'Voucher' },
        google: { kind: 'giftCard', object: { balance: { micros: '{{cents}}', currencyCode: 'EUR' } } },
      },
      variables: { cents: '12.5' },
    })
    expect(pass.status).toBe('ISSUED')
    const lastError = await lastErrorOf(workspace, pass.id)
    expect(lastError?.message).toContain('google.object.balance.micros: Must be a whole number')
    const [outcome] = await googleAlone().issuing.prepare(
      workspace.id,
      [(await makePass(workspace, pass.templateId!, { variables: { cents: '1.5' } })).id],
      api.now,
    )
    expect(outcome?.error?.message).toContain('google.object.balance.micros')
  })
})
