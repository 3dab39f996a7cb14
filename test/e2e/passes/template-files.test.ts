import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { festival, museum, writeBundle } from '../../cli/template/designer-bundles.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { run } from '../support/program.ts'
import { sharedServer, type TestServer } from '../support/server.ts'

const shared = sharedServer()
const icons = new URL('../../../examples/', import.meta.url).pathname

const ticket = {
  key: 'day-ticket',
  name: 'Ticket',
  description: 'One day',
  passType: 'eventTicket',
  definition: {
    variables: [{ name: 'seat', label: 'Seat', required: true }],
    design: { organizationName: 'Fair', description: 'Ticket', images: { icon: 'images/icon.png' } },
  },
}

/** Creates a folder with template files and an image. */
function folderOf(files: Record<string, unknown>): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'images'))
  copyFileSync(join(icons, 'conference/images/icon.png'), join(folder, 'images/icon.png'))
  for (const [name, file] of Object.entries(files)) write(folder, name, file)
  return folder
}

function write(folder: string, name: string, file: unknown): void {
  writeFileSync(join(folder, name), typeof file === 'string' ? file : JSON.stringify(file, undefined, 2))
}

async function json(args: string[], server?: TestServer) {
  const { exitCode, stdout } = await run(['template', ...args, '--json'], server)
  return { exitCode, value: JSON.parse(stdout) }
}

test('a file finds its template by key: creates, keeps, changes its draft, or creates the next draft', async () => {
  const server = await shared()
  const folder = folderOf({ 'ticket.json': ticket })
  const file = join(folder, 'ticket.json')
  const push = (...more: string[]) => json(['push', file, ...more], server)
  const made = await push()
  expect(made.value).toMatchObject({ key: 'day-ticket', outcome: 'created', version: 1, stage: 'draft' })
  const { templateId } = made.value
  expect((await push()).value).toMatchObject({ templateId, outcome: 'unchanged', version: 1 })
  write(folder, 'ticket.json', {
    ...ticket,
    name: 'Day ticket',
    definition: { ...ticket.definition, expiresAt: '2030-01-01' },
  })
  expect((await push()).value).toMatchObject({ templateId, outcome: 'updated', version: 1 })
  expect((await push('--publish')).value).toMatchObject({
    templateId,
    outcome: 'updated',
    version: 1,
    stage: 'published',
  })
  expect((await push('--publish')).value).toMatchObject({ outcome: 'unchanged', version: 1, stage: 'published' })
  copyFileSync(join(icons, 'coupon/images/icon.png'), join(folder, 'images/icon.png'))
  expect((await push()).value).toMatchObject({ templateId, outcome: 'updated', version: 2, stage: 'draft' })
  expect(await server.client.templates.list()).toMatchObject({
    items: [{ id: templateId, name: 'Day ticket' }],
    total: 1,
  })
})

test('diff shows how a file and the server differ, sends nothing, and exits with 3 for a difference', async () => {
  const server = await shared()
  const folder = folderOf({ 'ticket.json': ticket })
  const file = join(folder, 'ticket.json')
  const diff = () => json(['diff', file], server)
  expect(await diff()).toMatchObject({ exitCode: 3, value: [{ state: 'missing' }] })
  await run(['template', 'push', file], server)
  expect(await diff()).toEqual({ exitCode: 0, value: [{ file, key: 'day-ticket', state: 'equal', changes: [] }] })
  copyFileSync(join(icons, 'coupon/images/icon.png'), join(folder, 'images/icon.png'))
  write(folder, 'ticket.json', { ...ticket, name: 'New' })
  const { exitCode, stdout } = await run(['template', 'diff', file], server)
  expect(exitCode).toBe(3)
  expect(stdout.split('\n').slice(1, 3)).toEqual(['- name: "Ticket"', '+ name: "New"'])
  expect(stdout).toContain('- definition.design.images.icon: ')
  expect((await server.client.workspace.get()).usage!.storedBytes).toBeLessThan(200_000)
})

test('diff finds a file equal after its push, even if the server stores its image without metadata', async () => {
  const server = await shared()
  const file = join(folderOf({ 'ticket.json': ticket }), 'ticket.json')
  const image = sharp({ create: { width: 660, height: 660, channels: 3, background: '#22313f' } })
  writeFileSync(
    join(file, '../images/icon.png'),
    await image
      .withExif({ IFD0: { ImageDescription: 'Icon' } })
      .png()
      .toBuffer(),
  )
  await run(['template', 'push', file], server)
  expect(await json(['diff', file], server)).toMatchObject({ exitCode: 0, value: [{ state: 'equal', changes: [] }] })
})

test('push names the file of an image that the server rejects, and the correlation ID', async () => {
  const file = join(folderOf({ 'ticket.json': ticket }), 'ticket.json')
  const icon = join(file, '../images/icon.png')
  writeFileSync(icon, readFileSync(icon).fill(0x5a, 60, 90))
  const { exitCode, stderr } = await run(['template', 'push', file], await shared())
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`The server rejects ${icon}: The image `)])
  expect(stderr).toMatch(/Correlation ID: \S+/)
})

test('pulling and pushing a template leaves it unchanged', async () => {
  const server = await shared()
  const folder = folderOf({ 'ticket.json': ticket })
  await run(['template', 'push', join(folder, 'ticket.json')], server)
  const out = join(folder, 'pulled.json')
  expect((await run(['template', 'pull', 'day-ticket', '--out', out], server)).exitCode).toBe(0)
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
    key: 'day-ticket',
    definition: { variables: [{ name: 'seat' }] },
  })
  expect((await json(['push', out], server)).value).toMatchObject({ outcome: 'unchanged' })
  for (const command of [
    ['template', 'pull', 'day-ticket', '--out', out],
    ['template', 'preview', 'day-ticket', '--html', out],
    ['template', 'join', 'day-ticket', '--poster', out],
    ['door', 'invite', '--project', 'Fair', '--gate', 'North', '--svg', out],
    ['audit', 'prove', '--out', out],
  ]) {
    // The file is checked first, so the error does not depend on a token.
    const rejected = await run(command)
    expect([rejected.exitCode, rejected.stderr]).toEqual([1, `Error: ${out} already exists; --force replaces it.`])
  }
  for (const path of ['-', '/dev/stdout']) {
    expect(await run(['template', 'preview', 'day-ticket', '--html', path])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`This command requires a file, not ${path} for stdin or stdout`),
    })
  }
  expect(await run(['template', 'pull', 'day-ticket', '--out', out, '--force'], server)).toMatchObject({ exitCode: 0 })
  const ontoItself = ['template', 'strings', out, '--language', 'de', '--out', out, '--force']
  expect(await run(ontoItself)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('the template file itself'),
  })
  expect(await run(['template', 'pull', 'other'], server)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('No template is called other'),
  })
})

test.skipIf(!existsSync('/dev/full'))('the error of a full disk names the output file', async () => {
  const server = await shared()
  const file = join(folderOf({ 'ticket.json': { ...ticket, key: 'full-disk' } }), 'ticket.json')
  await json(['push', file], server)
  for (const [command, flag] of [
    ['pull', '--out'],
    ['preview', '--html'],
  ] as const) {
    const { exitCode, stderr } = await run(['template', command, 'full-disk', flag, '/dev/full'], server)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('/dev/full cannot be written: no space is left')])
  }
})

test('an image variable takes a file as example, which lint checks and push uploads once', async () => {
  const server = await shared()
  const photo = { name: 'photo', label: 'Photo', format: 'image', example: 'images/icon.png' }
  const { definition } = ticket
  const variables = [...definition.variables, photo]
  const design = { ...definition.design, images: { ...definition.design.images, thumbnail: '{{photo}}' } }
  const folder = folderOf({ 'ticket.json': { ...ticket, definition: { ...definition, variables, design } } })
  const file = join(folder, 'ticket.json')
  expect(await run(['template', 'lint', file])).toMatchObject({ exitCode: 0 })
  const { value } = await json(['push', file, '--publish'], server)
  expect(value).toMatchObject({ stage: 'published', images: 1 })
  const stored = await server.client.templateVersions.get({ params: { id: value.versionId } })
  const { icon } = stored.definition.design.images
  expect(stored.definition.variables.at(-1)).toMatchObject({ format: 'image', example: icon })
  expect((await json(['diff', file], server)).value).toMatchObject([{ state: 'equal' }])
  writeFileSync(join(folder, 'images/icon.png'), 'no image')
  expect(await run(['template', 'lint', file])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('neither PNG nor JPEG'),
  })
})

test('reads all files of a folder before it pushes any', async () => {
  const server = await shared()
  const coupon = { ...ticket, key: 'coupon', passType: 'coupon' }
  const folder = folderOf({ 'a.json': ticket, 'b.json': coupon, 'notes.txt': 'none' })
  expect((await json(['push', folder], server)).value).toMatchObject([
    { key: 'day-ticket', outcome: 'created' },
    { key: 'coupon', outcome: 'created' },
  ])
  for (const [broken, said] of [
    [{ ...coupon, key: undefined }, 'b.json has no key'],
    [ticket, 'have the same key day-ticket'],
    [{ ...coupon, key: 'Coupon' }, 'lowercase letters, digits or hyphens'],
  ] as const) {
    write(folder, 'a.json', { ...ticket, name: 'Never' })
    write(folder, 'b.json', broken)
    const { exitCode, stderr } = await run(['template', 'push', folder], server)
    expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining(said)])
  }
  // A draft can be incomplete. A published definition cannot.
  write(folder, 'b.json', { ...coupon, definition: { ...coupon.definition, expiresAt: '{{nothing}}' } })
  const paths = ['a.json', 'b.json'].map((name) => join(folder, name))
  const { exitCode, stderr } = await run(['template', 'push', ...paths, '--publish', '--yes'], server)
  expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining('nothing')])
  expect((await server.client.templates.list({ query: { key: 'day-ticket' } })).items[0]!.name).toBe('Ticket')
})

test('lint reports every problem with line and column, without a server', async () => {
  const broken = { ...ticket, definition: { ...ticket.definition, expiresAt: '{{nothing}}' } }
  const folder = folderOf({ 'ok.json': ticket, 'broken.json': broken, 'half.json': '{\n  "name": "x",\n  "key"' })
  const lint = (name: string) => run(['template', 'lint', join(folder, name)])
  expect(await lint('ok.json')).toMatchObject({ exitCode: 0, stderr: '' })
  write(folder, 'keyless.json', { ...ticket, key: undefined })
  expect(await lint('keyless.json')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('keyless.json has no key, which "passes apply" requires'),
  })
  expect(await lint('broken.json')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/ 21:18 definition\.expiresAt: /),
  })
  expect(await lint('half.json')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('half.json:3:8 is not valid JSON'),
  })
  const { value } = await json(['lint', join(folder, 'broken.json')])
  expect(value.error.details.issues).toMatchObject([{ path: ['definition', 'expiresAt'], line: 21, column: 18 }])
})

test('init writes a template that lint finds clean and push publishes, and overwrites no file', async () => {
  const server = await shared()
  const cwd = temporaryFolder()
  const args = ['template', 'init', '--kind', 'event-ticket', '--name', 'Day ticket', '--organization', 'Fair']
  expect(await run(args, undefined, { cwd })).toMatchObject({ exitCode: 0, stdout: 'Wrote day-ticket.json.' })
  expect(await run(args, undefined, { cwd })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('already exists'),
  })
  const linted = await run(['template', 'lint', 'day-ticket.json'], undefined, { cwd })
  expect(linted).toMatchObject({ exitCode: 0, stdout: 'day-ticket.json: no problems found' })
  const pushed = await run(['template', 'push', 'day-ticket.json', '--publish', '--json'], server, { cwd })
  expect(JSON.parse(pushed.stdout)).toMatchObject({ outcome: 'created', stage: 'published' })
  expect(await run(['template', 'init'], undefined, { cwd })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--kind'),
  })
})

test('import makes a file from a template of Pass Designer, names what differs, and says what to do next', async () => {
  const cwd = temporaryFolder()
  writeBundle(cwd, museum, 'Museum card.pkpasstemplate')
  const args = ['template', 'import', 'Museum card.pkpasstemplate']
  const { exitCode, stdout, stderr } = await run(args, undefined, { cwd })
  expect(exitCode).toBe(0)
  expect(stdout.split('\n')).toEqual([
    'Wrote museum-card.json with 3 images and 8 variables.',
    'Kept in apple, for iPhones only:',
    '  posterGeneric.backFields: A design has no dataDetectorTypes.',
    '  posterGeneric.additionalInfoFields: A design does not have this group.',
    '  footerBackgroundColor: A design does not have this key.',
    '  sharingProhibited: A design does not have this key.',
    '  featuredActions: A design does not have this key.',
    'Not imported:',
    '  locations.0.altitude: A position in a template file has no altitude.',
    '  futureKey: Unknown key: Apple has no such key here.',
    '  featuredActions.1: url: Is required.',
    'Left out, because the service sets them: passTypeIdentifier, teamIdentifier, serialNumber, authenticationToken, webServiceURL.',
  ])
  expect(stderr).toMatch(/^Next: .* template lint museum-card\.json$/)
  const linted = await run(['template', 'lint', 'museum-card.json'], undefined, { cwd })
  expect(linted).toMatchObject({ exitCode: 0, stdout: 'museum-card.json: no problems found' })
  expect(await run(args, undefined, { cwd })).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--force') })

  const unfit = { ...festival, 'pass.json': String(festival['pass.json']).replaceAll('"nfc"', '"nfcLater"') }
  writeBundle(cwd, unfit, 'unfit')
  const other = await run(['template', 'import', 'unfit', '--key', 'unfit', '--json'], undefined, { cwd })
  expect(JSON.parse(other.stdout)).toMatchObject({
    file: 'unfit.json',
    passType: 'eventTicket',
    problems: [{ path: 'definition.apple.nfc' }],
  })
  expect(other.stderr).toMatch(/^Next: fix these problems, then .* template lint unfit\.json$/)
  expect(await run(['template', 'lint', 'unfit.json'], undefined, { cwd })).toMatchObject({ exitCode: 1 })
})
