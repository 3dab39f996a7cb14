import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import { expect, test } from 'vitest'
import { onlyAnswers, readRows, setUpOn, startRun, writeRows } from '../support/bulk-setup.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

/** A server for each test: names of other providers need one that no other workspace shares. */
const setUp = async () => setUpOn(await hostServer(onlyAnswers))

const header = ['externalPassId', 'label', 'seat', 'serial_number', 'authentication_token', 'scanPayload', 'devices']
const rowsFor = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, n) => [
    `${prefix}-${n}`,
    `Ada ${n}`,
    String(n),
    `${prefix}-S${n}`,
    'abcdefghijklmnop',
    `${prefix}-code-${n}`,
    `phone-${prefix}-${n}:aa${n} other-${prefix}-${n}:bb${n}`,
  ])

test('plans a file and imports it once; a second run changes nothing', async () => {
  const setup = await setUp()
  const { server, folder, templateId: template } = setup
  writeRows(setup, 'members.csv', [header, ...rowsFor(120, 'once')])
  const args = ['import', 'members.csv', '--template', template]
  const call = async (...more: string[]) => run([...args, ...more, '--json'], server, { cwd: folder })
  const planned = await call('--dry-run')
  expect(JSON.parse(planned.stdout)).toMatchObject({ dryRun: true, rows: 120, created: 120, present: 0, failed: 0 })
  expect((await server.client.passes.list()).total).toBe(0)

  const done = await call('--out', 'ids.csv')
  expect(done.exitCode, done.stderr).toBe(0)
  expect(done.stderr).toContain('The column "serial_number" is used as serialNumber')
  expect(JSON.parse(done.stdout)).toMatchObject({ complete: true, created: 120, present: 0, differs: 0, failed: 0 })
  const { passId } = readRows(setup, 'ids.csv')[42]!
  const pass = await server.client.passes.get({ params: { id: passId! }, query: { include: ['wallets'] } })
  expect(pass).toMatchObject({ externalPassId: 'once-42', status: 'ISSUED', variables: { seat: '42' } })
  expect(pass.wallets!.apple).toHaveLength(2)
  const scan = await server.client.scans.create({ body: { qrPayload: 'once-code-42' } })
  expect(scan.result).toBe('accepted')

  const again = await call('--out', 'ids.csv', '--restart')
  expect(JSON.parse(again.stdout)).toMatchObject({ created: 0, present: 120, failed: 0 })
  expect((await server.client.passes.list()).total).toBe(120)
})

test('each failing row names its line and column, and rows may name their templates', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  const [good, token, devices, seat, repeat, unknown] = rowsFor(6, 'bad').map((row) => [...row, templateId])
  token![4] = 'short'
  devices![6] = 'no-token'
  seat![2] = ''
  repeat![3] = good![3]!
  unknown![7] = 'nothing-called-so'
  const file = [[...header, 'template'], good!, token!, devices!, seat!, repeat!, unknown!]
  writeRows(setup, 'bad.csv', file)
  const args = ['import', 'bad.csv', '--failures', 'failures.csv', '--json']
  const failed = await run(args, server, { cwd: folder })
  expect(failed.exitCode).toBe(1)
  const { errors, created } = JSON.parse(failed.stdout)
  expect(created).toBe(1)
  const told = errors.map(({ line, error }: { line: number; error: string }) => `${line} ${error}`)
  expect(told).toEqual([
    expect.stringMatching(/^3 authentication_token: Must be 16 to 255/),
    expect.stringMatching(/^4 devices\.0\.pushToken: /),
    expect.stringMatching(/^5 seat: /),
    '6 serial_number: Is already in line 2, for another pass',
    expect.stringMatching(/^7 template: No template is called nothing-called-so/),
  ])
  const other = [[...header, 'template'], good!.with(0, 'bad-other')]
  writeRows(setup, 'other.csv', other)
  const taken = await run(['import', 'other.csv', '--json'], server, { cwd: folder })
  expect(JSON.parse(taken.stdout).errors).toMatchObject([
    { error: expect.stringMatching(/^DUPLICATE_PASS: The serial number/) },
  ])
  const changed = [[...header, 'template'], good!.with(1, 'Eve')]
  writeRows(setup, 'changed.csv', changed)
  const differs = await run(['import', 'changed.csv', '--json'], server, { cwd: folder })
  expect(JSON.parse(differs.stdout)).toMatchObject({ created: 0, differs: 1, failed: 0 })
  expect(differs.exitCode).toBe(1)
})

test('reports a file that is not a list of passes to import', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  const refused = async (name: string, content: string | Uint8Array, ...more: string[]) => {
    writeFileSync(join(folder, name), content)
    const { exitCode, stderr } = await run(['import', name, ...more], server, { cwd: folder })
    expect(exitCode).toBe(1)
    return stderr
  }
  const sheet = await refused('book.csv', Buffer.from('PK\u0003\u0004rest'), '--template', templateId)
  expect(sheet).toContain('a workbook (.xlsx or .ods)')
  const plain = await refused('plain.csv', 'externalPassId,label\na,b\n', '--template', templateId)
  expect(plain).toContain('nothing to import')
  const nameless = await refused('none.csv', 'externalPassId,label,serialNumber\na,b,c\n')
  expect(nameless).toContain('Column template not found')
  const unknown = await refused('known.csv', 'externalPassId,label,serialNumber\na,b,c\n', '--identity', 'acme')
  expect(unknown).toContain('No identity is called acme')
  expect(unknown).toContain('passes identity use')
})

test('a killed run resumes where it was, and imports each pass once', async () => {
  const setup = await setUp()
  writeRows(setup, 'killed.csv', [header, ...rowsFor(350, 'killed')])
  const { templateId, folder } = setup
  const args = ['import', 'killed.csv', '--template', templateId, '--concurrency', '1', '--json']
  const { child, release, through } = await startRun(setup, args)
  child.kill('SIGKILL')
  await child
  release()
  const resumed = await run(args, through.server, { cwd: folder })
  expect(resumed.exitCode, resumed.stderr).toBe(0)
  const { alreadyDone, ...counts } = JSON.parse(resumed.stdout)
  expect(alreadyDone).toBeGreaterThanOrEqual(100)
  expect(counts).toMatchObject({ rows: 350, failed: 0, differs: 0 })
  expect(counts.created + counts.present).toBe(350)
  const { total } = await setup.server.client.passes.list({ query: { templateId: [templateId] } })
  expect(total).toBe(350)
})

test('packages of another provider become a file to import', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  mkdirSync(join(folder, 'old'))
  const fields = [
    { key: 'name', value: 'Grace' },
    { key: 'seat', value: 7 },
    { key: 'status', value: 'gold' },
  ]
  const passJson = (parts: object) => ({
    passTypeIdentifier: 'pass.test.old',
    webServiceURL: 'https://old.example.com/passkit/',
    eventTicket: { primaryFields: fields.slice(0, 1), secondaryFields: fields.slice(1) },
    ...parts,
  })
  const add = (name: string, parts: object) => {
    const content = strToU8(JSON.stringify(passJson(parts)))
    writeFileSync(join(folder, 'old', name), zipSync({ 'pass.json': content }))
  }
  const token = 'abcdefghijklmnop'
  add('a.pkpass', { serialNumber: 'a/1', authenticationToken: token, barcodes: [{ message: 'A1' }] })
  add('b.pkpass', { serialNumber: 'b/1', barcode: { message: '=1+1' }, voided: true, eventTicket: 'none' })
  writeFileSync(join(folder, 'old', 'c.pkpass'), 'no archive')
  const folded = await run(['import', 'old', '--template', templateId], server, { cwd: folder })
  expect(folded.stderr).toContain('passes packages old --out passes.csv')
  const read = await run(['packages', 'old', '--out', 'old.csv'], server, { cwd: folder })
  expect(read.exitCode).toBe(1)
  expect(read.stderr).toContain('c.pkpass: it is not a ZIP archive')
  expect(read.stderr).toContain('--apple-prefix /passkit')
  expect(readRows(setup, 'old.csv')).toMatchObject([
    { externalPassId: 'a/1', label: 'Grace', scanPayload: 'A1', status: 'ISSUED', seat: '7', field_status: 'gold' },
    { externalPassId: 'b/1', label: 'b/1', authenticationToken: '', scanPayload: "'=1+1", status: 'VOID', seat: '' },
  ])
  // The columns could have been renamed since.
  writeFileSync(join(folder, 'old.csv'), 'renamed')
  const again = await run(['packages', 'old', '--out', 'old.csv'], server, { cwd: folder })
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('old.csv already exists')])
  expect(readFileSync(join(folder, 'old.csv'), 'utf8')).toBe('renamed')
  rmSync(join(folder, 'old.csv'))
  await run(['packages', 'old', '--out', 'old.csv'], server, { cwd: folder })
  mkdirSync(join(folder, 'junk'))
  writeFileSync(join(folder, 'junk', 'c.pkpass'), 'no archive')
  const junk = await run(['packages', 'junk', '--out', 'junk.csv'], server, { cwd: folder })
  expect([junk.exitCode, existsSync(join(folder, 'junk.csv'))]).toEqual([1, false])
  expect(junk.stderr).toContain('c.pkpass: it is not a ZIP archive')
  const wrong = await run(['import', 'old.csv', '--template', templateId, '--json'], server, { cwd: folder })
  const [named, unseated] = JSON.parse(wrong.stdout).errors
  expect(named.error).toContain('passTypeIdentifier: The identity has the pass type')
  expect(unseated.error).toContain('seat: ')
})
