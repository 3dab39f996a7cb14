import { beforeAll, describe, expect, test } from 'vitest'
import { unzip } from '../../../../src/cli/device/apple-package.ts'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { PassImport } from '../../../../src/core/contract/passes.ts'
import { sweep } from '../../../../src/server/background/maintenance.ts'
import { erasePass } from '../../../../src/server/operator/erase-pass.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects, oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass, makeProject, publishedTemplate, publishVersion } from '../../fixtures.ts'
import { usePhones } from '../../inbound/phones.ts'

type Item = Partial<PassImport> & { externalPassId: string }

const TYPE = 'pass.test.api'
const token = 'abcdefghijklmnop'
let number = 0

/** Returns an import item as another provider has the pass. */
function item(parts: Partial<PassImport> = {}) {
  number += 1
  const serialNumber = `M/${number} é`
  const externalPassId = `member-${number}`
  return { externalPassId, label: 'Ada Lovelace', serialNumber, authenticationToken: token, ...parts }
}

const importOf = (templateId: string, passes: Item[], more: object = {}) => ({
  body: { templateId, passes: passes as never[], ...more },
})

/** Returns the result of each item: whether it created its pass, or the error code. */
async function outcomes(workspace: TestWorkspace, ...call: Parameters<typeof importOf>) {
  const { results } = await workspace.ok(contract.passes.import, importOf(...call))
  return results.map(({ created, error }) => error?.code ?? created)
}

const passJson = (file: Buffer) => JSON.parse(unzip(file).get('pass.json')!.toString())

let identities = 0

/** Adds an identity to a workspace like an operator does. */
async function addIdentity({ api, id: workspaceId }: TestWorkspace, platform: 'apple' | 'google') {
  identities += 1
  const isApple = platform === 'apple'
  const names = {
    passTypeIdentifier: isApple ? `pass.example.n${identities}` : null,
    teamIdentifier: isApple ? 'EXAMPLE001' : null,
    issuerId: isApple ? null : `33880000${identities}`,
  }
  return api.services.store.transaction(async (tx) => {
    const identity = { platform, name: `n${identities}`, isSandbox: false, expiresAt: null, ...names }
    const made = (await tx.identities.insert(identity, () => null, api.now))!
    await tx.identities.insertGrant(workspaceId, made.id)
    return made
  })
}

describe.each(dialects)('on %s, a workspace that has the server for itself', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace
  let templateId: string
  let projectId: string
  beforeAll(async () => {
    workspace = await api.workspace()
    projectId = (await makeProject(workspace)).id
    templateId = (await publishedTemplate(workspace, { projectId })).id
  })

  const rows = (table: string, passId: string) => api.database.writer(table).where({ pass_id: passId })
  const web = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    api.send(method, `/apple/v1${path}`, {
      ...(body && { body }),
      headers: { authorization: `ApplePass ${token}`, ...headers },
    })
  const addressOf = (serialNumber: string) => `${TYPE}/${encodeURIComponent(serialNumber)}`

  async function imported(parts: Partial<PassImport> = {}) {
    const one = item(parts)
    const { results } = await workspace.ok(contract.passes.import, importOf(templateId, [one]))
    expect(results[0]!.error).toBeUndefined()
    return { ...one, pass: results[0]!.pass! }
  }

  test('an import keeps a pass unchanged without a job or event, and is idempotent', async () => {
    const devices = ['a', 'b'].map((id) => ({
      deviceLibraryIdentifier: `${id}-${number}`,
      pushToken: `${id}${number}`,
    }))
    const one = item({ devices, scanPayload: 'printed-1', variables: { seat: 'A-1' } })
    const gone = item({ status: 'VOID' })
    const ended = await workspace.ok(contract.passes.import, importOf(templateId, [one, gone]))
    expect(ended).toMatchObject({ totalRequested: 2, totalCreated: 2, totalFailed: 0 })
    const [pass, voided] = ended.results.map((result) => result.pass!)
    expect(pass).toMatchObject({ status: 'ISSUED', label: one.label, variables: { seat: 'A-1' }, revision: 1 })
    expect(pass!.hostedLinks.apple).not.toBeNull()
    expect(voided).toMatchObject({ status: 'VOID', hostedLinks: { apple: null } })
    expect(await workspace.ok(contract.passes.get, { params: { id: pass!.id } })).toEqual(pass)
    expect(await workspace.events(pass!.id)).toEqual([])
    expect(await api.database.writer('jobs').whereIn('subject', [pass!.id, voided!.id])).toEqual([])
    expect(await rows('apple_registrations', pass!.id)).toHaveLength(2)
    expect(await rows('held_passes', pass!.id)).toMatchObject([{ apple: 2, google: 0 }])
    const [audited] = await api.database
      .writer('audit_entries')
      .where({ workspace_id: workspace.id })
      .orderBy('id', 'desc')
    expect(audited).toMatchObject({ action: 'pass.import', target_count: 2 })
    const stats = await workspace.ok(contract.projects.stats, { params: { id: projectId } })
    expect(stats).toMatchObject({ totalPassCount: 2, livePassCount: 1 })

    await workspace.ok(contract.passes.update, { params: { id: pass!.id }, body: { label: 'Grace' } })
    const again = { ...one, devices: devices.toReversed(), passTypeIdentifier: TYPE }
    const { results } = await workspace.ok(contract.passes.import, importOf(templateId, [again, gone]))
    expect(results.map(({ created }) => created)).toEqual([false, false])
    expect(results[0]!.pass).toMatchObject({ id: pass!.id, label: 'Grace' })
    const other = [
      { ...one, label: 'Eve' },
      { ...gone, status: 'ISSUED' as const },
    ]
    expect(await outcomes(workspace, templateId, other)).toEqual(['CONFLICT', 'CONFLICT'])
  })

  test('one of several identical concurrent imports makes each pass, completely', async () => {
    const passes = Array.from({ length: 30 }, (_, n) =>
      item({ devices: [{ deviceLibraryIdentifier: `raced-${n}`, pushToken: 'aa' }], scanPayload: `raced-${number}` }),
    )
    const all = await Promise.all(
      [1, 2, 3].map(() => workspace.ok(contract.passes.import, importOf(templateId, passes))),
    )
    const made = all.flatMap(({ results }) => results.filter(({ created }) => created))
    expect(made.map(({ externalPassId }) => externalPassId).sort()).toEqual(passes.map((p) => p.externalPassId).sort())
    expect(all.flatMap(({ results }) => results.filter(({ success }) => !success))).toEqual([])
    const ids = made.map(({ pass }) => pass!.id)
    expect(await api.database.writer('apple_registrations').whereIn('pass_id', ids)).toHaveLength(30)
    expect(await api.database.writer('pass_identifiers').whereIn('pass_id', ids)).toHaveLength(30)
  })

  test('a serial number or object belongs to the first pass that requests it', async () => {
    const [first, second] = [item(), item()]
    const same = { ...second, serialNumber: first.serialNumber }
    expect((await outcomes(workspace, templateId, [first, same])).sort()).toEqual(['DUPLICATE_PASS', true])
    const raced = Array.from({ length: 4 }, () => item({ serialNumber: 'wanted' }))
    const all = await Promise.all(raced.map((one) => outcomes(workspace, templateId, [one])))
    expect(all.flat().filter((outcome) => outcome === true)).toHaveLength(1)
    expect(all.flat().filter((outcome) => outcome === 'DUPLICATE_PASS')).toHaveLength(3)
  })

  test('no import takes over current or former identifiers of passes created here', async () => {
    const { id } = await issuedPass(workspace)
    const { issuerId } = api.services.wallets.google!
    const { serialNumber, pass: moved } = await imported()
    await workspace.ok(contract.passes.transfer, { params: { id: moved.id }, body: { label: 'Grace' } })
    const { copyId } = (await api.services.store.passes.find(workspace.id, moved.id))!
    for (const name of [id, id.toUpperCase(), copyId, serialNumber])
      expect(await outcomes(workspace, templateId, [item({ serialNumber: name })]), name).toEqual(['DUPLICATE_PASS'])
    for (const name of [id, `${id}-generic`, `${copyId}-generic`]) {
      const one = item({ googleObjectId: `${issuerId}.${name}` })
      expect(await outcomes(workspace, templateId, [one]), name).toEqual(['DUPLICATE_PASS'])
    }
    // Rejected items do not use capacity, so the next one fits.
    const { total } = await workspace.ok(contract.passes.list, { query: { limit: 1 } })
    const setLimit = (passes: number | null) =>
      api.services.store.transaction((tx) => tx.limits.set(workspace.id, { passes }))
    await setLimit(total + 1)
    api.advance(2)
    expect(await outcomes(workspace, templateId, [item({ serialNumber: id }), item()])).toEqual([
      'DUPLICATE_PASS',
      true,
    ])
    await setLimit(null)
    api.advance(2)
    // The same serial number under another identity is no conflict.
    const { id: identityId } = await addIdentity(workspace, 'apple')
    const elsewhereNamed = [item({ serialNumber: id })]
    expect(await outcomes(workspace, templateId, elsewhereNamed, { identityId })).toEqual([true])
    // A UUID of another server.
    const elsewhere = '01985f0c-7a10-7c3e-9d61-2f5b8e4a7c99'
    expect(await outcomes(workspace, templateId, [item({ serialNumber: elsewhere })])).toEqual([true])
  })

  test('a dry run shows the outcome of an import, and stores nothing', async () => {
    const [known, fresh] = [item(), item()]
    await workspace.ok(contract.passes.import, importOf(templateId, [known]))
    const count = async () => (await api.database.writer('passes').where({ workspace_id: workspace.id })).length
    const before = await count()
    const passes = [known, fresh, fresh, item({ serialNumber: known.serialNumber }), { ...fresh, label: 'Eve' }]
    const answer = await workspace.ok(contract.passes.import, {
      ...importOf(templateId, passes),
      query: { dryRun: true },
    })
    expect(answer.results.map(({ created, error }) => error?.code ?? created)).toEqual([
      false,
      true,
      false,
      'DUPLICATE_PASS',
      'CONFLICT',
    ])
    expect(answer.results[1]).not.toHaveProperty('pass')
    expect(await count()).toBe(before)
    expect(await outcomes(workspace, templateId, [fresh])).toEqual([true])
  })

  test('an item that is rejected for the name of its object leaves its serial number to a later item', async () => {
    const googleObjectId = `${api.services.wallets.google!.issuerId}.theirs`
    const [holder, later] = [item({ googleObjectId }), item()]
    const both = item({ googleObjectId, serialNumber: later.serialNumber })
    const request = { ...importOf(templateId, [holder, both, later]), query: { dryRun: true } }
    const { results } = await workspace.ok(contract.passes.import, request)
    expect(results.map(({ created, error }) => error?.code ?? created)).toEqual([true, 'DUPLICATE_PASS', true])
  })

  test('a dry run written in several parts rejects a repeated name, as the import does', async () => {
    // More than one part holds, because phones count too.
    const devices = Array.from({ length: 100 }, (_, n) => ({
      deviceLibraryIdentifier: `many-${n}`,
      pushToken: `ab${n}`,
    }))
    const passes = Array.from({ length: 100 }, () => item({ devices }))
    // The order of the items must not matter.
    passes[0] = { ...passes[0]!, externalPassId: `zz-${passes[0]!.externalPassId}` }
    passes[99] = { ...passes[99]!, serialNumber: passes[0]!.serialNumber }
    const expected = passes.map((_, n) => (n === 99 ? 'DUPLICATE_PASS' : true))
    for (const dryRun of [true, false]) {
      const request = { ...importOf(templateId, passes), query: { dryRun } }
      const { results } = await workspace.ok(contract.passes.import, request)
      expect(results.map(({ created, error }) => error?.code ?? created)).toEqual(expected)
    }
  })

  test('variables that are too large are rejected before they are compared with what was imported', async () => {
    const known = item()
    const tooLarge = { ...known, variables: { seat: 'x'.repeat(64 * 1024) } }
    expect(await outcomes(workspace, templateId, [known])).toEqual([true])
    const { results } = await workspace.ok(contract.passes.import, importOf(templateId, [tooLarge]))
    expect(results[0]!.error).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining('64 KiB') })
  })

  test('a device holds 300 passes of a workspace, and no import or registration adds one', async () => {
    const pushToken = 'ab'
    const full = { deviceLibraryIdentifier: 'full phone', pushToken }
    const nearly = Array.from({ length: 298 }, () => item({ devices: [full] }))
    for (const part of [nearly.slice(0, 100), nearly.slice(100, 200), nearly.slice(200)]) {
      expect(new Set(await outcomes(workspace, templateId, part))).toEqual(new Set([true]))
    }
    // This import is written in several parts, because registrations of phones count too.
    const others = Array.from({ length: 99 }, (_, n) => ({ deviceLibraryIdentifier: `beside-${n}`, pushToken }))
    const passes = Array.from({ length: 6 }, () => item({ devices: [full, ...others] }))
    for (const dryRun of [true, false]) {
      const request = { ...importOf(templateId, passes), query: { dryRun } }
      const { results } = await workspace.ok(contract.passes.import, request)
      const outcome = results.map(({ created, error }) => error?.code ?? created)
      expect(outcome).toEqual([true, true, 'CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT'])
      expect(results[2]!.error!.message).toContain('The device full phone holds 300 passes of the workspace')
    }
    expect(await outcomes(workspace, templateId, [nearly[0]!, { ...passes[2]!, devices: others }])).toEqual([
      false,
      true,
    ])

    const register = async (device: string, serialNumber: string) =>
      (await web('POST', `/devices/${device}/registrations/${addressOf(serialNumber)}`, { pushToken })).status
    expect(await register('full%20phone', passes[2]!.serialNumber)).toBe(403)
    expect(await register('full%20phone', passes[1]!.serialNumber)).toBe(200)
    expect(await register('another', passes[2]!.serialNumber)).toBe(201)
  })

  test('phones keep serial number and token, get a push at the next update, and our address in the package', async () => {
    const pushToken = phones.apns.newDeviceToken(TYPE)
    const devices = [{ deviceLibraryIdentifier: 'old phone', pushToken }]
    const { serialNumber, pass } = await imported({ devices, scanPayload: 'printed-2' })
    const changes = `/devices/old%20phone/registrations/${TYPE}?passesUpdatedSince=1700000000`
    expect((await web('GET', changes)).status).toBe(204)
    expect(
      (await web('GET', `/passes/${addressOf(serialNumber)}`, undefined, { authorization: 'ApplePass x' })).status,
    ).toBe(401)

    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { variables: { seat: 'B-2' } } })
    await api.runJobs()
    const [phone] = await rows('apple_registrations', pass.id)
    expect(phone).toMatchObject({ pushed_version: 2, last_error: null })
    const changed = await web('GET', changes)
    expect(changed.body).toMatchObject({ serialNumbers: [serialNumber] })
    // A tag in the format of this server, but further ahead than its own.
    const ahead = await web('GET', changes.replace('1700000000', 'v99999'))
    expect(ahead.body).toEqual(changed.body)
    const file = await web('GET', `/passes/${addressOf(serialNumber)}`)
    expect(file.status).toBe(200)
    const shown = passJson(file.bytes)
    expect(shown).toMatchObject({
      serialNumber,
      authenticationToken: token,
      webServiceURL: 'https://passes.example/apple',
      barcodes: [{ message: 'printed-2' }],
    })
    const other = await web('POST', `/devices/new/registrations/${addressOf(serialNumber)}`, { pushToken: 'aa' })
    expect(other.status).toBe(201)
    expect((await workspace.ok(contract.scans.create, { body: { qrPayload: 'printed-2' } })).result).toBe('accepted')
  })

  test('a date of the previous server hides no change from a phone, even in the second of the change', async () => {
    const devices = [{ deviceLibraryIdentifier: `dated-${number}`, pushToken: 'dated' }]
    const { serialNumber, pass } = await imported({ devices })
    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { label: 'Grace' } })
    const { modifiedAt } = (await api.services.store.passes.find(workspace.id, pass.id))!
    const fetched = async (seconds: number) => {
      const since = new Date(modifiedAt.getTime() + seconds * 1000).toUTCString()
      return web('GET', `/passes/${addressOf(serialNumber)}`, undefined, { 'if-modified-since': since })
    }
    const { status, headers } = await fetched(0)
    expect([status, headers.get('last-modified')]).toEqual([200, modifiedAt.toUTCString()])
    expect((await fetched(0)).status).toBe(304)
    expect((await fetched(60)).status).toBe(200)
  })

  test('a new code replaces the printed one, and a new holder does not see the old names', async () => {
    const devices = [{ deviceLibraryIdentifier: 'before', pushToken: phones.apns.newDeviceToken(TYPE) }]
    const { serialNumber, pass } = await imported({ devices, scanPayload: 'printed-3' })
    const scan = async () =>
      (await workspace.ok(contract.scans.create, { body: { qrPayload: 'printed-3' } })).reasonCode
    await workspace.ok(contract.passes.rotateCode, { params: { id: pass.id } })
    expect(await scan()).toBe('stale_identifier')

    const copyBefore = (await api.services.store.passes.find(workspace.id, pass.id))!.copyId
    await workspace.ok(contract.passes.transfer, { params: { id: pass.id }, body: { label: 'Grace' } })
    const after = (await api.services.store.passes.find(workspace.id, pass.id))!
    expect([after.serialNumber === after.copyId, after.copyId === copyBefore]).toEqual([true, false])
    await api.runJobs()
    const changed = await web('GET', `/devices/before/registrations/${TYPE}?passesUpdatedSince=1`)
    expect(changed.body).toMatchObject({ serialNumbers: [serialNumber] })
    const file = await web('GET', `/passes/${addressOf(serialNumber)}`)
    expect(passJson(file.bytes)).toMatchObject({ serialNumber, voided: true })
    expect((await web('DELETE', `/devices/before/registrations/${addressOf(serialNumber)}`)).status).toBe(200)
    api.advance(31 * 86_400)
    expect((await web('GET', `/passes/${addressOf(serialNumber)}`)).status).toBe(401)
  })

  test('the next update takes the object at Google over, and callbacks and links name it', async () => {
    const google = api.services.google!
    const { issuerId } = api.services.wallets.google!
    const [suffix, oldClass] = [`member_${number}`, { id: `${issuerId}.old` }]
    const id = `${issuerId}.${suffix}`
    const said = (value: string) => ({ defaultValue: { language: 'en', value } })
    await google.api.insertClass('generic', oldClass)
    await google.api.upsertObject(
      'generic',
      { id, classId: oldClass.id, state: 'ACTIVE', cardTitle: said('Old'), header: said('Old') },
      [],
    )
    const { pass } = await imported({ googleObjectId: id, scanPayload: 'printed-4' })
    const installs = async () =>
      (await workspace.ok(contract.projects.stats, { params: { id: projectId } })).googleInstallCount
    expect(await installs()).toBe(1)

    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { variables: { seat: 'C-3' } } })
    await api.runJobs()
    const object = await google.api.getObject('generic', id)
    expect(object).toMatchObject({ id, barcode: { value: 'printed-4' } })
    expect(object.classId).toBe(`${issuerId}.template-${templateId}-v1-generic`)
    const stored = (await api.services.store.passes.find(workspace.id, pass.id))!
    expect(await google.ensure(stored, api.now)).toMatchObject({ objectSuffix: suffix })
    await api.services.store.transaction((tx) => tx.googleObjects.addHolders(suffix, -1, api.now))
    expect(await installs()).toBe(0)
    const elsewhere = item({ googleObjectId: `999.${suffix}` })
    expect(await outcomes(workspace, templateId, [elsewhere])).toEqual(['VALIDATION_ERROR'])
  })

  test('an object of another kind than the template is reported on its pass until a version has its kind', async () => {
    const { api: google } = api.services.google!
    const { issuerId } = api.services.wallets.google!
    const [id, classId] = [`${issuerId}.kind_${number}`, `${issuerId}.old-offer`]
    const [texts, design] = [{ issuerName: 'Old', provider: 'Old', title: 'Old' }, definition()]
    const ofClass = { id: classId, ...texts, redemptionChannel: 'BOTH', reviewStatus: 'UNDER_REVIEW' }
    await google.insertClass('offer', ofClass)
    await google.upsertObject('offer', { id, classId, state: 'ACTIVE' })
    const { pass } = await imported({ googleObjectId: id })
    const update = (body: object) => workspace.ok(contract.passes.update, { params: { id: pass.id }, body })
    const lastError = async () =>
      (await workspace.ok(contract.passes.wallets, { params: { id: pass.id } })).google!.lastError
    await update({ label: 'Grace' })
    await api.runJobs()
    expect(await lastError()).toContain(`Google has ${id} as an object of another kind than generic`)
    // No failed job remains.
    expect(await api.services.store.backlog.listFailed({ workspaceId: workspace.id }, 10)).toEqual([])

    await publishVersion(workspace, templateId, { ...design, google: { kind: 'offer' } })
    await update({ templateVersion: 'latest' })
    await api.runJobs()
    expect(await lastError()).toBeNull()
    expect(await google.getObject('offer', id)).toMatchObject({ id, classId: expect.not.stringContaining('old') })
    await publishVersion(workspace, templateId, design)
  })

  test('an erasure removes the printed code at once, and the serial number once phones could fetch the rest', async () => {
    const devices = [{ deviceLibraryIdentifier: 'erased', pushToken: phones.apns.newDeviceToken(TYPE) }]
    const { serialNumber, pass } = await imported({ devices, scanPayload: 'ada@example.com' })
    const { store } = api.services
    await erasePass({ store, database: api.database }, workspace.id, pass.id, api.now)
    const kept = () => api.database.writer('passes').where({ id: pass.id }).first()
    expect(await kept()).toMatchObject({ scan_payload: null, import_digest: null })
    expect((await workspace.ok(contract.scans.create, { body: { qrPayload: 'ada@example.com' } })).reasonCode).toBe(
      'no_match',
    )
    expect((await web('GET', `/passes/${addressOf(serialNumber)}`)).status).toBe(200)
    api.advance(31 * 86_400)
    await sweep(api.services)
    expect(await kept()).toMatchObject({ imported_serial_number: null })
    expect((await web('GET', `/passes/${addressOf(serialNumber)}`)).status).toBe(401)
  })

  test('another workspace gets its own identity first, and finds no names of others under it', async () => {
    const stranger = await api.workspace()
    const theirs = (await publishedTemplate(stranger)).id
    const squatted = item()
    expect(await outcomes(stranger, theirs, [squatted])).toEqual(['FORBIDDEN'])
    expect(await outcomes(workspace, templateId, [squatted])).toEqual(['FORBIDDEN'])
    // An import by codes alone reveals nothing about other workspaces.
    const printed = { externalPassId: 'printed', label: 'Ada', scanPayload: 'printed-2' }
    expect(await outcomes(stranger, theirs, [printed])).toEqual([true])

    const [ours, shared] = [await addIdentity(workspace, 'apple'), await addIdentity(workspace, 'apple')]
    await api.services.store.transaction((tx) => tx.identities.insertGrant(stranger.id, shared.id))
    expect(
      await stranger.refused(contract.passes.import, importOf(theirs, [squatted], { identityId: ours.id })),
    ).toMatchObject({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
    })
    const passTypeIdentifier = ours.passTypeIdentifier!
    const wrong = { ...squatted, passTypeIdentifier }
    expect(await outcomes(workspace, templateId, [wrong], { identityId: shared.id })).toEqual(['VALIDATION_ERROR'])
    expect(await outcomes(workspace, templateId, [wrong], { identityId: ours.id })).toEqual([true])
    // The same serial number is free under another identity, and taken under the same one.
    expect(await outcomes(stranger, theirs, [squatted], { identityId: shared.id })).toEqual([true])
    const third = item({ serialNumber: squatted.serialNumber })
    expect(await outcomes(workspace, templateId, [third], { identityId: shared.id })).toEqual(['DUPLICATE_PASS'])
    expect(await outcomes(workspace, templateId, [squatted], { identityId: shared.id })).toEqual(['CONFLICT'])
    await api.services.store.transaction((tx) => tx.identities.update(ours.id, { status: 'retired' }, api.now))
    const refused = await workspace.refused(
      contract.passes.import,
      importOf(templateId, [item()], { identityId: ours.id }),
    )
    expect(refused.message).toContain('is retired')
  })

  test('two issuers can have objects of one name, which are independent', async () => {
    const both = [await addIdentity(workspace, 'google'), await addIdentity(workspace, 'google')]
    const passIds: string[] = []
    for (const { id: identityId, issuerId } of both) {
      const one = {
        ...item({ googleObjectId: `${issuerId}.same` }),
        serialNumber: undefined,
        authenticationToken: undefined,
      }
      const { results } = await workspace.ok(contract.passes.import, importOf(templateId, [one], { identityId }))
      passIds.push(results[0]!.pass!.id)
    }
    for (const id of passIds) await workspace.ok(contract.passes.transfer, { params: { id }, body: { label: 'Grace' } })
    for (const id of passIds) expect(await rows('google_former_objects', id)).toMatchObject([{ object_suffix: 'same' }])
    const again = {
      ...item({ googleObjectId: `${both[0]!.issuerId}.same` }),
      serialNumber: undefined,
      authenticationToken: undefined,
    }
    expect(await outcomes(workspace, templateId, [again], { identityId: both[0]!.id })).toEqual(['DUPLICATE_PASS'])
  })
})

describe.each(oneDialect)('valid and invalid items on %s', (dialect) => {
  const api = useApi(dialect)

  test('each invalid item fails separately, with the path of its error', async () => {
    const workspace = await api.workspace()
    const code128 = { organizationName: 'O', description: 'D', barcode: { format: 'code128' as const } }
    const template = await publishedTemplate(workspace, { definition: definition({ design: code128 }) })
    const device = (id: string, pushToken = 'aa') => ({ deviceLibraryIdentifier: id, pushToken })
    const many = (count: number) => Array.from({ length: count }, (_, n) => device(`d${n}`))
    const broken: [object, string][] = [
      [{ authenticationToken: 'x' }, 'authenticationToken'],
      [{ authenticationToken: 'with a space in it all' }, 'authenticationToken'],
      [{ serialNumber: 'a\u0007b' }, 'serialNumber'],
      [{ serialNumber: undefined }, 'authenticationToken'],
      [{ authenticationToken: undefined, devices: [device('d')] }, 'devices'],
      [{ devices: [device('d', 'ab\u0001')] }, 'devices.0.pushToken'],
      [{ devices: [device('d'), device('d')] }, 'devices.1'],
      [{ devices: many(101) }, 'devices'],
      [{ googleObjectId: 'no-issuer' }, 'googleObjectId'],
      [{ scanPayload: 'Ω' }, 'scanPayload'],
      [{ scanPayload: 'x'.repeat(2049) }, 'scanPayload'],
      [{ status: 'EXPIRED' }, 'status'],
      [{ variables: { seat: 'x'.repeat(11) } }, 'variables.seat'],
      [{ passTypeIdentifier: 'pass.of.another' }, 'passTypeIdentifier'],
      [{ more: 1 }, 'more'],
    ]
    const passes = [
      item(),
      ...broken.map(([parts]) => ({ ...item(), ...parts })),
      null as never,
      item({ devices: many(100) }),
    ]
    const { results } = await workspace.ok(contract.passes.import, importOf(template.id, passes))
    expect(results.at(0)!.created).toBe(true)
    expect(results.at(-1)!.created).toBe(true)
    const places = results
      .slice(1, -2)
      .map(({ error }) => (error!.details!.issues as { path: string[] }[])[0]!.path.join('.'))
    expect(places).toEqual(broken.map(([, place]) => place))
  })

  test('enforces the limit of passes and the project of a token, and rejects members', async () => {
    const workspace = await api.workspace()
    const project = await makeProject(workspace)
    const [inside, outside] = [
      await publishedTemplate(workspace, { projectId: project.id }),
      await publishedTemplate(workspace),
    ]
    const bare = (name: string) => ({ externalPassId: name, label: 'Ada', scanPayload: name })
    const ask = async (templateId: string, text: string, passes = [bare('by-token')]) => {
      const headers = { authorization: `Bearer ${text}` }
      const answer = await api.send('POST', '/v1/passes/import', { body: { templateId, passes }, headers })
      const { results, errorCode } = answer.body as {
        results?: { created: boolean; error?: { code: string } }[]
        errorCode?: string
      }
      return errorCode ?? results!.map(({ created, error }) => error?.code ?? created)
    }
    const bound = await api.token(workspace.id, { projectIds: [project.id] })
    expect(await outcomes(workspace, outside.id, [bare('elsewhere')])).toEqual([true])
    expect(await ask(outside.id, bound)).toBe('TEMPLATE_NOT_FOUND')
    expect(await ask(inside.id, bound)).toEqual([true])
    expect(await ask(inside.id, bound, [bare('elsewhere')])).toEqual(['DUPLICATE_PASS'])
    expect(await ask(inside.id, await api.token(workspace.id, { role: 'member' }))).toBe('FORBIDDEN')

    await api.services.store.transaction((tx) => tx.limits.set(workspace.id, { passes: 3 }))
    const passes = [bare('third'), bare('fourth')]
    api.advance(2)
    expect((await outcomes(workspace, inside.id, passes)).sort()).toEqual(['CONFLICT', true])
  })
})
