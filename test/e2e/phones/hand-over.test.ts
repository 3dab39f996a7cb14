import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { dialects, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { publishTicket } from '../support/bulk-setup.ts'
import { listenForPushes, newPhones } from '../support/phone.ts'
import { run } from '../support/program.ts'
import { hostServer, sandboxFolder } from '../support/server.ts'

const ISSUER = '3388000000000000000'

/** Returns the barcode message of a package. */
const codeIn = (content: { barcodes?: { message: string }[] | undefined }) => content.barcodes![0]!.message

describe.each(dialects)('on %s', (dialect) => {
  test('an export is imported elsewhere, and phones continue with it: pushed, updated, and accepted', async () => {
    const folder = temporaryFolder()
    const shared = { dialect, env: { PASSES_SANDBOX_DIR: sandboxFolder() } }
    const from = await hostServer(shared)
    const { id: projectId } = await from.client.projects.create({ body: { name: 'Fair' } })
    const templateId = await publishTicket(from.client, projectId)
    const create = async (externalPassId: string, variables: Record<string, unknown>) => {
      const body = { externalPassId, templateId, label: '=1+1, "Ada"\nLovelace é', groupKey: 'order 7', variables }
      const { id } = await from.client.passes.create({ body: body as never })
      const issued = { status: 'ISSUED' }
      await eventually(async () => expect(await from.client.passes.get({ params: { id } })).toMatchObject(issued))
      return id
    }
    const held = await create('T-1', { seat: '-A 1', note: { a: [1] }, day: '2027-05-31', Label: 'hidden' })
    const other = await create('T-2', { seat: "'=B" })
    await from.client.passes.void({ params: { id: other } })
    const phones = await newPhones(from, held, ['phone-1', 'phone-2'])
    for (const phone of phones) expect(await phone.register(from)).toBe(201)
    const [phone] = phones as [(typeof phones)[number]]
    const before = (await phone.fetch(from))!.content
    const opened = openDatabase(from.database)
    const { workspace_id: workspaceId } = await opened.writer('passes').first('workspace_id')
    await opened.writer('google_objects').insert({
      ...{ pass_id: held, workspace_id: workspaceId, object_suffix: `${held}-EVENT`, sent_version: 1, holders: 1 },
      sent_at: Date.now(),
    })

    const args = ['export', '--handover', 'passes.csv', '--database', from.database, '--project', 'Fair']
    const unnamed = await run(args, undefined, { cwd: folder })
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([1, expect.stringContaining('--google-issuer-id')])
    const toFolder = await run([...args.with(2, '.'), '--force'], undefined, { cwd: folder })
    expect([toFolder.exitCode, toFolder.stderr]).toEqual([
      2,
      expect.stringContaining('is a folder. Give the name of a file in it'),
    ])
    expect(readdirSync(folder)).toEqual([])
    const whole = [...args, '--google-issuer-id', ISSUER, '--json']
    const exported = await run(whole, undefined, { cwd: folder })
    expect(exported.exitCode, exported.stderr).toBe(0)
    expect(JSON.parse(exported.stdout)).toMatchObject({
      ...{ passes: 2, devices: 2, googleObjects: 1, unissued: 0, devicesLeftOut: 0, valuesLeftOut: 1 },
      identities: { apple: ['server'], google: ['server'] },
    })
    expect(statSync(join(folder, 'passes.csv')).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['passes.csv'])
    const secrets = [before.authenticationToken, ...phones.map(({ pushToken }) => pushToken)]
    for (const secret of secrets) expect(exported.stdout + exported.stderr).not.toContain(secret)
    const entries = await opened.reader('audit_entries').where({ action: 'pass.export' })
    expect(entries).toMatchObject([{ workspace_id: workspaceId, target_id: null, target_count: 2 }])
    await opened.close()

    const again = await run(whole, undefined, { cwd: folder })
    expect([again.exitCode, again.stdout]).toEqual([1, expect.stringContaining('--force')])
    const left = join(folder, 'passes.csv.part')
    writeFileSync(left, 'a killed run')
    const forced = await run([...whole, '--force'], undefined, { cwd: folder })
    expect([forced.exitCode, forced.stderr]).toEqual([0, expect.stringContaining(`Removing ${left}`)])
    expect(readdirSync(folder).filter((name) => name.startsWith('passes.csv'))).toEqual(['passes.csv'])

    const to = await hostServer(shared)
    const ours = await to.client.projects.create({ body: { name: 'Fair' } })
    await publishTicket(to.client, ours.id)
    const taken = await run(['import', 'passes.csv', '--json'], to, { cwd: folder })
    expect(taken.exitCode, taken.stderr).toBe(0)
    expect(JSON.parse(taken.stdout)).toMatchObject({ created: 2, failed: 0 })
    const { items } = await to.client.passes.list({ query: { sortBy: 'externalPassId', sortDir: 'asc' } })
    const [pass, voided] = items as [(typeof items)[number], (typeof items)[number]]
    expect(pass).toMatchObject({
      ...{ externalPassId: 'T-1', label: '=1+1, "Ada"\nLovelace é', groupKey: 'order 7', status: 'ISSUED' },
      variables: { seat: '-A 1', note: '{"a":[1]}', day: '2027-05-31' },
    })
    expect(pass.id).not.toBe(held)
    expect(voided).toMatchObject({ externalPassId: 'T-2', status: 'VOID', variables: { seat: "'=B" } })

    const pushes = await Promise.all(phones.map((one) => listenForPushes(from, one)))
    await to.client.passes.update({ params: { id: pass.id }, body: { label: 'Grace Hopper' } })
    await eventually(() => expect(pushes.map(({ count }) => count())).toEqual([1, 1]))
    for (const one of phones) expect((await one.listChanged(to, '0'))!.serialNumbers).toEqual([before.serialNumber])
    const { content } = (await phone.fetch(to))!
    expect(content).toMatchObject({
      serialNumber: before.serialNumber,
      authenticationToken: before.authenticationToken,
      webServiceURL: `${to.url}/apple`,
    })
    expect(codeIn(content as never)).toBe(codeIn(before as never))
    const body = { qrPayload: codeIn(before as never), projectId: ours.id }
    expect(await to.client.scans.create({ body })).toMatchObject({ result: 'accepted' })
  })
})

describe.each(dialects)('on %s', (dialect) => {
  test('phones redirected to the next server register there, and are updated there without the old one', async () => {
    const folder = temporaryFolder()
    const phone = (...args: string[]) => run(['device', ...args, '--data-dir', 'phones'], undefined, { cwd: folder })
    const from = await hostServer({ dialect })
    const { id: projectId } = await from.client.projects.create({ body: { name: 'Fair' } })
    const templateId = await publishTicket(from.client, projectId)
    const body = { externalPassId: 'T-1', templateId, label: 'Ada Lovelace', variables: { seat: 'A-1' } }
    const { id } = await from.client.passes.create({ body })
    const { hostedLinks } = await eventually(async () => {
      const pass = await from.client.passes.get({ params: { id } })
      expect(pass.status).toBe('ISSUED')
      return pass
    })
    const installed = await phone('install', hostedLinks.apple!, '--platform', 'apple')
    expect(installed.exitCode, installed.stderr).toBe(0)

    const to = await hostServer({ dialect })
    const move = (...args: string[]) =>
      run(['move-out', '--database', from.database, ...args], undefined, { cwd: folder })
    const type = ['--apple-pass-type', 'pass.test.passes.sandbox']
    const there = ['--to', `${to.url}/apple`, ...type, '--yes']
    const own = await move('--to', `${from.url}/apple/`, ...type, '--yes')
    expect([own.exitCode, own.stderr]).toEqual([1, expect.stringContaining('is already the address of this server')])
    const early = await move(...there)
    expect([early.exitCode, early.stderr]).toEqual([
      1,
      expect.stringMatching(/responds with 401 for the pass[\s\S]*import the passes/),
    ])
    expect(JSON.parse((await move('--status', '--json')).stdout)).toEqual({ url: null })

    const ours = await to.client.projects.create({ body: { name: 'Fair' } })
    await publishTicket(to.client, ours.id)
    const exported = await run(['export', '--handover', 'a.csv', '--database', from.database], undefined, {
      cwd: folder,
    })
    expect(exported.exitCode, exported.stderr).toBe(0)
    expect((await run(['import', 'a.csv'], to, { cwd: folder })).exitCode).toBe(0)
    const begun = await move(...there, '--json')
    expect(begun.exitCode, begun.stderr).toBe(0)
    expect(JSON.parse(begun.stdout)).toMatchObject({
      ...{ url: `${to.url}/apple`, passes: 1, moved: 0, silent: 1, refused: 0, waiting: 0 },
    })
    expect((await phone('open', 'iphone')).exitCode).toBe(0)
    expect(JSON.parse((await move('--status', '--json')).stdout)).toMatchObject({ moved: 1, silent: 0 })
    await from.stop()

    const [pass] = (await to.client.passes.list({ query: {} })).items
    await to.client.passes.update({ params: { id: pass!.id }, body: { variables: { seat: 'B-2' } } })
    await eventually(async () => {
      const { items } = await to.client.wallets.list({ query: {} })
      const own = items.filter(({ lastPushAt }) => lastPushAt !== null)
      expect(own.length).toBeGreaterThan(0)
    })
    expect((await to.client.wallets.list({ query: { stale: false } })).items).toEqual([])
    const opened = await phone('open', 'iphone')
    expect(opened.exitCode, opened.stderr).toBe(0)
    const { items } = await to.client.wallets.list({ query: { stale: false } })
    expect(items.map(({ passId }) => passId)).toContain(pass!.id)
  })
})

test('rejects what cannot be exported, and leaves no file and no entry', async () => {
  const folder = temporaryFolder()
  const { database } = await hostServer({ args: ['--role', 'api'] })
  const run1 = (...args: string[]) =>
    run(['export', '--database', database, '--handover', ...args], undefined, { cwd: folder })
  const refused = async (args: string[], exitCode: number, message: string) => {
    const { stderr, ...ended } = await run1(...args)
    expect([ended.exitCode, stderr]).toEqual([exitCode, expect.stringContaining(message)])
  }
  await refused(['-'], 2, 'not written to stdout')
  await refused(['none/a.csv'], 1, 'none does not exist')
  await refused(['a.csv', '--balances', './a.csv'], 2, 'name the same file')
  await refused(['a.csv', '--balances', 'none/b.csv'], 1, 'none does not exist')
  await refused(['a.csv', '--balances', '.'], 2, 'is a folder')
  // The draft of the second file cannot be written.
  mkdirSync(join(folder, 'b.csv.part'))
  await refused(['a.csv', '--balances', 'b.csv'], 1, 'b.csv.part')
  await refused(['a.csv', '--workspace', 'none'], 1, 'Workspace none not found')
  await refused(['a.csv', '--project', 'none'], 1, 'Project none not found')
  await refused(['a.csv', '--template', 'none'], 1, 'Template none not found')
  await refused(['a.csv', '--identity', 'none'], 1, 'Identity none not found')
  writeFileSync(join(folder, 'mine.csv'), 'mine')
  await refused(['mine.csv'], 1, '--force')
  expect(readFileSync(join(folder, 'mine.csv'), 'utf8')).toBe('mine')
  expect(existsSync(join(folder, 'a.csv'))).toBe(false)
  const opened = openDatabase(database)
  expect(await opened.reader('audit_entries').where({ action: 'pass.export' })).toEqual([])
  await opened.close()
  expect((await run1('empty.csv')).exitCode).toBe(0)
  expect(readFileSync(join(folder, 'empty.csv'), 'utf8')).toMatch(/^externalPassId,label,template,[^\n]+\n$/)
})
