import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import { createPackages, type PackagesOptions } from '../../../src/server/wallet-sync/package-cache.ts'
import type { StoredPass } from '../../../src/storage/passes/pass-row.ts'
import { createAppleWallet, type UnsignedPackage } from '../../../src/wallets/apple/apple-wallet.ts'
import { sandboxIdentities, type TestWorkspace, useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { openedIn } from '../../support/phone-languages.ts'
import { createTestIdentity, unpack, verifySignature, webServiceUrl } from '../../wallets/apple/fixtures.ts'
import { definition, issuedPass, makePass, publishVersion } from '../fixtures.ts'

const type = 'pass.test.api'

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  const stored = async (workspace: TestWorkspace, id: string) =>
    (await api.services.store.passes.find(workspace.id, id))!

  /** Creates the package cache of a process that has signed nothing yet, and counts its signatures. */
  function freshPackages(options: PackagesOptions = {}, hold: Promise<void> = Promise.resolve()) {
    const apple = api.services.wallets.apple!
    const signed: string[] = []
    const signPackage = async (unsigned: UnsignedPackage, at: Date) => {
      signed.push(unsigned.digest)
      await hold
      return apple.signPackage(unsigned, at)
    }
    const packages = createPackages(async () => ({ ...apple, signPackage }), api.services.issuing, options)
    const build = async (workspace: TestWorkspace, id: string) => packages.build(await stored(workspace, id), api.now)
    return { signed, packages, build }
  }

  test('equal content is signed once for any number of requests, and openssl accepts the cached package', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const { build, signed } = freshPackages()
    const together = await Promise.all(Array.from({ length: 20 }, () => build(workspace, id)))
    api.advance(60)
    const later = await build(workspace, id)
    expect(signed).toHaveLength(1)
    expect(new Set([...together, later].map((file) => file.toString('base64'))).size).toBe(1)
    await verifySignature(await unpack(later), sandboxIdentities().applePems.rootPem)
  })

  test('any change that a phone would see is signed again, and nothing of an erased pass returns', async () => {
    const workspace = await api.workspace()
    const project = await workspace.ok(contract.projects.create, { body: { name: 'Autumn', color: 'gray' } })
    const named = definition({ design: { ...definition().design, logoText: '{{project.name}} {{template.name}}' } })
    const pass = await issuedPass(workspace, { projectId: project.id, definition: named, label: 'Ada' })
    const params = { id: pass.id }
    const templateId = pass.templateId!
    const next = definition({ design: { ...named.design, description: 'The second version' } })
    const changes: [string, () => Promise<unknown>][] = [
      ['Ada', async () => undefined],
      ['Grace', () => workspace.ok(contract.passes.update, { params, body: { label: 'Grace' } })],
      [
        'Winter',
        () => workspace.ok(contract.projects.update, { params: { id: project.id }, body: { name: 'Winter' } }),
      ],
      [
        'Admission',
        () => workspace.ok(contract.templates.update, { params: { id: templateId }, body: { name: 'Admission' } }),
      ],
      [
        'Doors at eight',
        () => workspace.ok(contract.notifications.create, { params, body: { body: 'Doors at eight' } }),
      ],
      [
        'The second version',
        async () => {
          await publishVersion(workspace, templateId, next)
          await workspace.ok(contract.passes.update, { params, body: { templateVersion: 'latest' } })
        },
      ],
      ['"voided":true', () => workspace.ok(contract.passes.void, { params, body: {} })],
    ]
    // Phones send notifications of the passes that they have.
    const headers = { authorization: `ApplePass ${(await stored(workspace, pass.id)).appleToken}` }
    const registration = `/apple/v1/devices/holder/registrations/${type}/${pass.id}`
    await api.send('POST', registration, { headers, body: { pushToken: 'push' } })
    const { build, signed } = freshPackages()
    for (const [shown, change] of changes) {
      await change()
      await api.runJobs()
      const before = signed.length
      expect((await build(workspace, pass.id)).includes(shown), shown).toBe(true)
      expect((await build(workspace, pass.id)).includes(shown), shown).toBe(true)
      expect(signed.length, shown).toBe(before + 1)
    }
    await erasePass({ store: api.services.store, database: api.database }, workspace.id, pass.id, api.now)
    const erased = await build(workspace, pass.id)
    for (const gone of ['Grace', 'Doors at eight']) expect(erased.includes(gone), gone).toBe(false)
  })

  test('reports texts that values made equal once per version, with places and without values', async () => {
    const workspace = await api.workspace()
    const field = (key: string, en: string) => ({ key, label: { pt: `{{${key}}}`, en }, value: '1' })
    const content = definition({
      languages: { default: 'pt', others: ['en'] },
      variables: ['porta', 'sala'].map((name) => ({ name, label: name, required: true })),
      design: { ...definition().design, fields: { primary: [field('porta', 'Gate')], back: [field('sala', 'Hall')] } },
    })
    const variables = { porta: 'Azul', sala: 'Azul' }
    const { id, templateId, templateVersionId } = await issuedPass(workspace, { definition: content, variables })
    const other = await makePass(workspace, templateId!, { variables: { porta: 'Azul', sala: 'Verde' } })
    await api.runJobs()
    const warned: unknown[][] = []
    const log = { warn: (...args: unknown[]) => warned.push(args) }
    const { build } = freshPackages({ log: log as unknown as NonNullable<PackagesOptions['log']> })
    await build(workspace, other.id)
    expect(warned).toEqual([])
    const archive = await build(workspace, id)
    await build(workspace, id)
    const places = { place: 'generic.backFields.0.label', other: 'generic.primaryFields.0.label', language: 'en' }
    expect(warned).toEqual([[{ templateId, templateVersionId, templateVersion: 1, ...places }, expect.any(String)]])
    expect(openedIn('en', archive)('Azul')).toBe('Gate')
  })

  test('a new certificate and a new web service address change the content', async () => {
    const workspace = await api.workspace()
    const pass = await stored(workspace, (await issuedPass(workspace)).id)
    const rendered = await api.services.issuing.renderForApple(pass)
    const loadImageFiles = api.services.images.loadFiles
    const wallets = [
      ...(await Promise.all([createTestIdentity(), createTestIdentity(1)])).map(({ identity }) => identity),
    ].flatMap((identity) =>
      [webServiceUrl, 'https://elsewhere.example/apple'].map((url) =>
        createAppleWallet({ identity, webServiceUrl: url, loadImageFiles }),
      ),
    )
    const at = new Date('2026-07-02T00:00:00Z')
    const digests = await Promise.all(wallets.map(async (wallet) => (await wallet.preparePackage(rendered, at)).digest))
    expect(new Set(digests).size).toBe(4)
  })

  test('a workspace that opens many passes evicts only its own', async () => {
    const [one, other] = [await api.workspace(), await api.workspace()]
    const { id } = await issuedPass(one)
    const many = [await issuedPass(other), await issuedPass(other), await issuedPass(other)]
    const { build, signed } = freshPackages({ maxBytes: 10_000 })
    await build(one, id)
    for (const pass of many) await build(other, pass.id)
    const before = signed.length
    await build(one, id)
    expect(signed.length).toBe(before)
    await build(other, many[0]!.id)
    expect(signed.length).toBe(before + 1)
  })

  test('a request behind too many signatures gets Retry-After, and others get their package', async () => {
    const [one, other] = [await api.workspace(), await api.workspace()]
    const passes = [await issuedPass(one), await issuedPass(one)]
    const others = [await issuedPass(other), await issuedPass(other)]
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { build, signed } = freshPackages({ maxSigning: 2, maxSigningOfWorkspace: 1 }, held)
    const first = build(one, passes[0]!.id)
    await eventually(() => expect(signed).toHaveLength(1))
    const refused = { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } }
    await expect(build(one, passes[1]!.id)).rejects.toMatchObject(refused)
    const second = build(other, others[0]!.id)
    await eventually(() => expect(signed).toHaveLength(2))
    await expect(build(other, others[1]!.id)).rejects.toMatchObject(refused)
    release()
    expect((await Promise.all([first, second])).map((file) => file.subarray(0, 2).toString())).toEqual(['PK', 'PK'])
    expect((await build(one, passes[1]!.id)).length).toBeGreaterThan(0)
  })

  test('links and phones get 304 for known content, the new package after a change, and headers for HEAD', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const authorization = `ApplePass ${(await stored(workspace, pass.id)).appleToken}`
    const targets: { path: string; headers: Record<string, string> }[] = [
      { path: new URL(pass.hostedLinks.apple!).pathname, headers: {} },
      { path: `/apple/v1/passes/${type}/${pass.id}`, headers: { authorization } },
    ]
    const ask = (target: (typeof targets)[number], headers: Record<string, string> = {}, method = 'GET') =>
      api.send(method, target.path, { headers: { ...target.headers, ...headers } })
    const had: Record<string, string>[] = []
    for (const target of targets) {
      const { status, headers, bytes } = await ask(target)
      const [etag, modified] = [headers.get('etag')!, headers.get('last-modified')!]
      expect([status, headers.get('cache-control'), etag.slice(0, 3)]).toEqual([200, 'private, no-cache', 'W/"'])
      expect(headers.get('content-length')).toBe(String(bytes.length))
      had.push({ 'if-none-match': etag, 'if-modified-since': modified })
      for (const [condition, expected] of [
        [{ 'if-none-match': etag }, 304],
        [{ 'if-none-match': `"other", ${etag}` }, 304],
        [{ 'if-none-match': '*' }, 304],
        [{ 'if-modified-since': modified }, 304],
        // The ETag takes precedence over the date.
        [{ 'if-none-match': '"other"', 'if-modified-since': modified }, 200],
        [{ 'if-modified-since': 'yesterday' }, 200],
        // A later time comes from another server, which the phone used before.
        [{ 'if-modified-since': new Date(Date.parse(modified) + 60_000).toUTCString() }, 200],
      ] as const) {
        const answer = await ask(target, condition)
        expect([answer.status, answer.bytes.length > 0], JSON.stringify(condition)).toEqual([
          expected,
          expected === 200,
        ])
        expect(answer.headers.get('last-modified')).toBe(modified)
      }
      const head = await ask(target, {}, 'HEAD')
      expect([head.status, head.headers.get('etag'), head.bytes.length]).toEqual([200, etag, 0])
      expect(head.headers.get('content-type')).toBe('application/vnd.apple.pkpass')
    }
    await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { label: 'Grace' } })
    for (const [n, target] of targets.entries()) expect((await ask(target, had[n])).status).toBe(200)
    // A phone that has the pass is notified of the void as well.
    await workspace.ok(contract.passes.void, { params: { id: pass.id }, body: {} })
    expect((await ask(targets[0]!, had[0])).status).toBe(410)
    expect((await ask(targets[1]!, had[1])).status).toBe(200)
  })

  test('a bundle ends before the package that would make it too large, and never without one', async () => {
    const workspace = await api.workspace()
    const passes: StoredPass[] = []
    for (const label of ['Ada', 'Grace', 'Hedy'])
      passes.push(await stored(workspace, (await issuedPass(workspace, { label })).id))
    const { length } = await freshPackages().packages.build(passes[0]!, api.now)
    const bundled = async (maxBundleBytes: number) => {
      const { file, taken } = await freshPackages({ maxBundleBytes }).packages.bundle(passes, api.now)
      return [taken, ...readdirSync(await unpack(file)).toSorted()]
    }
    expect(await bundled(3.5 * length)).toEqual([3, 'pass-01.pkpass', 'pass-02.pkpass', 'pass-03.pkpass'])
    expect(await bundled(2.5 * length)).toEqual([2, 'pass-01.pkpass', 'pass-02.pkpass'])
    expect(await bundled(1)).toEqual([1, 'pass-01.pkpass'])
  })

  test('unread bundles use limited memory, and one workspace at most half of it', async () => {
    const workspace = await api.workspace()
    const passes = [await stored(workspace, (await issuedPass(workspace)).id)]
    const elsewhere = await api.workspace()
    const others = [await stored(elsewhere, (await issuedPass(elsewhere)).id)]
    const { length } = await freshPackages().packages.build(passes[0]!, api.now)
    const { packages } = freshPackages({ maxSendingBytes: 5 * length })
    const [first] = [await packages.bundle(passes, api.now), await packages.bundle(passes, api.now)]
    const message = expect.stringContaining('of this workspace')
    await expect(packages.bundle(passes, api.now)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message })
    await packages.bundle(others, api.now)
    first!.leave()
    await packages.bundle(passes, api.now)
  })

  test('HEAD does not count as a fetch of a package, and a download reads the database once', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const headers = { authorization: `ApplePass ${(await stored(workspace, pass.id)).appleToken}` }
    const registration = `/apple/v1/devices/phone/registrations/${type}/${pass.id}`
    await api.send('POST', registration, { headers, body: { pushToken: 'push' } })
    const fetched = async () =>
      (await api.services.store.registrations.list(workspace.id, [pass.id]))[0]!.fetchedVersion
    await api.send('HEAD', `/apple/v1/passes/${type}/${pass.id}`, { headers })
    expect(await fetched()).toBe(0)
    await api.send('GET', `/apple/v1/passes/${type}/${pass.id}`, { headers })
    expect(await fetched()).toBe(1)

    const statements: string[] = []
    const { reader, writer } = api.database.forRequests('public')
    for (const connection of [reader, writer]) connection.on('query', ({ sql }) => statements.push(sql))
    await api.send('GET', new URL(pass.hostedLinks.apple!).pathname)
    expect(statements).toHaveLength(1)
  })
})
