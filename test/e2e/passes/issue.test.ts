import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { migratedDatabase } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { times } from '../../support/long.ts'
import {
  environment,
  onlyAnswers,
  publishTicket,
  resume,
  type Setup,
  setUpOn,
  sharedSetUp,
  startRun,
} from '../support/bulk-setup.ts'
import { startHeldProxy } from '../support/held-proxy.ts'
import { program, run } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { hostServer, startServer } from '../support/server.ts'

const setUp = sharedSetUp(onlyAnswers)

function rowsFor(count: number, prefix = 'T'): string[][] {
  return Array.from({ length: count }, (_, index) => [
    `${prefix}-${index}`,
    `Ada ${index}`,
    String(index),
    '2027-05-31',
  ])
}

const header = ['externalPassId', 'label', 'seat', 'day']

function csv(rows: string[][], { delimiter = ',', newline = '\n', bom = '' } = {}): string {
  return bom + [header, ...rows].map((cells) => cells.join(delimiter) + newline).join('')
}

function read(path: string, delimiter = ','): Record<string, string>[] {
  return parse(readFileSync(path), { columns: true, bom: true, delimiter })
}

async function passCount({ server, projectId }: Setup): Promise<number> {
  return (await server.client.projects.stats({ params: { id: projectId } })).totalPassCount
}

/** The number of rows. The long form has as many as a trade fair has guests. */
const ROWS = times(250, 2_000)

/** Enough rows to stop a run halfway: two batches get a response, two are in flight, and one is not sent yet. */
const MANY = times(450, 3_000)

/** A low concurrency keeps a short run going until it is stopped. */
const slowly = ['--concurrency', '2']

test('each row becomes a pass, and the links file joins them to the input in its order', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  const rows = rowsFor(ROWS)
  writeFileSync(join(folder, 'file.csv'), csv(rows))
  const args = ['issue', 'file.csv', '--template', templateId, '--out', 'links.csv', '--json']
  const first = await run(args, server, { cwd: folder })
  expect(first.exitCode).toBe(0)
  expect(JSON.parse(first.stdout)).toMatchObject({ complete: true, rows: ROWS, created: ROWS, failed: 0, errors: [] })
  const links = read(join(folder, 'links.csv'))
  expect(links.map((link) => [link.externalPassId, link.label, link.seat, link.day])).toEqual(rows)
  expect(new Set(links.map((link) => link.passId)).size).toBe(ROWS)
  const pass = await server.client.passes.get({ params: { id: links[232]!.passId! } })
  expect(pass).toMatchObject({ externalPassId: 'T-232', variables: { seat: '232', day: '2027-05-31' } })
  for (const link of ['appleLink', 'googleLink', 'smartLink']) expect(links[232]![link]).toContain(`${server.url}/l/`)

  const before = readFileSync(join(folder, 'links.csv'), 'utf8')
  const again = await run(args, server, { cwd: folder })
  expect(again.exitCode).toBe(0)
  const { created, present, alreadyDone } = JSON.parse(again.stdout)
  expect([created, present, alreadyDone]).toEqual([0, ROWS, ROWS])
  expect(readFileSync(join(folder, 'links.csv'), 'utf8')).toBe(before)
  expect(await passCount(setup)).toBe(ROWS)
})

test('failing rows are written with their error, fixed, and used as input', async () => {
  const setup = await setUp()
  const { server, folder, projectId, templateId } = setup
  const other = await publishTicket(server.client, projectId)
  await server.client.passes.create({
    body: { externalPassId: 'T-7', label: 'Grace', templateId: other, variables: { seat: '1' } },
  })
  const rows = rowsFor(120)
  rows[3]![2] = ''
  rows[100]![3] = 'soon'
  rows[119]!.push('surplus')
  writeFileSync(join(folder, 'file.csv'), csv(rows))
  const broken = await run(
    ['issue', 'file.csv', '--template', templateId, '--failures', 'failures.csv', '--out', 'links.csv'],
    server,
    { cwd: folder },
  )
  expect(broken.exitCode).toBe(1)
  expect(broken.stderr).toContain('Line 5 (T-3): seat: Is required (Seat)')
  expect(broken.stdout).toMatch(/^Failed +4\n +Of another template +1$/m)
  const failures = read(join(folder, 'failures.csv'))
  expect(Object.keys(failures[0]!)).toEqual([...header, 'error'])
  expect(failures.map((failure) => [failure.externalPassId, failure.error])).toEqual([
    ['T-3', 'seat: Is required (Seat)'],
    ['T-7', expect.stringMatching(/^DUPLICATE_PASS: /)],
    ['T-100', 'day: Must be of the format date, such as 2027-05-31'],
    ['T-119', 'Has 5 cells, but the header has 4; extra cells: surplus'],
  ])
  expect(read(join(folder, 'links.csv'))).toHaveLength(116)

  const mended = readFileSync(join(folder, 'failures.csv'), 'utf8')
    .replace('T-3,Ada 3,,', 'T-3,Ada 3,3,')
    .replace('T-7,', 'T-7b,')
    .replace('soon', '2027-06-01')
  writeFileSync(join(folder, 'failures.csv'), mended)
  const fed = await run(['issue', 'failures.csv', '--template', templateId, '--json'], server, { cwd: folder })
  expect(fed.exitCode).toBe(0)
  expect(JSON.parse(fed.stdout)).toMatchObject({ created: 4, failed: 0 })
  expect(await passCount(setup)).toBe(121)
})

test('Ctrl-C exits 130 and prints the command to resume, with each pass made once', async () => {
  const setup = await setUp()
  const { folder, templateId } = setup
  const rows = rowsFor(MANY)
  writeFileSync(join(folder, 'all the tickets.csv'), csv(rows))
  const { child, release, through } = await startRun(setup, [
    'issue',
    'all the tickets.csv',
    '--template',
    templateId,
    '--out',
    'links.csv',
    ...slowly,
  ])
  child.kill('SIGINT')
  release()
  const { exitCode, stderr } = await child
  expect(exitCode).toBe(130)
  const doneBefore = await passCount(setup)
  expect(doneBefore).toBeLessThan(MANY)
  expect(await resume(through, stderr)).toMatchObject({ exitCode: 0 })
  expect(await passCount(setup)).toBe(MANY)
  expect(read(join(folder, 'links.csv')).map((link) => link.externalPassId)).toEqual(rows.map(([id]) => id))
})

test('Ctrl-C on a terminal ends the progress bar first, and a file that changed since needs --restart', async () => {
  const { server, folder, templateId } = await setUp()
  const path = join(folder, 'file.csv')
  writeFileSync(path, csv(rowsFor(250)))
  const proxy = await startHeldProxy(server.url, 'POST /v1/passes')
  const args = ['issue', 'file.csv', '--template', templateId, ...slowly]
  const held = proxy.answer(1)
  const terminal = openTerminal(args, { ...server, url: proxy.url }, { cwd: folder, rows: 40, columns: 100 })
  await held
  await terminal.shows(/\d%/)
  terminal.type('\u0003')
  await terminal.shows('Stopping: waiting for requests in flight')
  proxy.release()
  expect(await terminal.ended).toBe(130)
  const lines = terminal.screen.lines()
  expect(lines.filter((line) => /\S.*Stopping|\^C|\d%.*Stopp/.test(line))).toEqual([])
  expect(lines.filter((line) => line.includes('%')).length).toBeLessThanOrEqual(1)

  writeFileSync(path, csv(rowsFor(120)))
  const digest = () => createHash('sha256').update(readFileSync(path)).digest('hex')
  const before = digest()
  const again = ['issue', 'file.csv', '--template', templateId]
  const refused = await run(again, server, { cwd: folder })
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('another version of this file')])
  const restarted = await run([...again, '--restart', '--json'], server, { cwd: folder })
  expect([restarted.exitCode, JSON.parse(restarted.stdout)]).toMatchObject([0, { rows: 120, alreadyDone: 0 }])
  const same = await run([...again, '--failures', './file.csv'], server, { cwd: folder })
  expect(same.exitCode).toBe(2)
  expect(digest()).toBe(before)
})

test('after SIGKILL the same command resumes, with each pass and link made once', async () => {
  const setup = await setUp()
  const { folder, templateId } = setup
  const rows = rowsFor(MANY)
  for (let index = 0; index < rows.length; index += 50) rows[index]![3] = 'soon'
  writeFileSync(join(folder, 'file.csv'), csv(rows))
  const args = [
    'issue',
    'file.csv',
    '--template',
    templateId,
    '--out',
    'links.csv',
    '--failures',
    'failures.csv',
    '--json',
    ...slowly,
  ]
  const { child, release, through } = await startRun(setup, args)
  child.kill('SIGKILL')
  release()
  await child
  const resumed = await run(args, through.server, { cwd: folder })
  expect(resumed.exitCode).toBe(1)
  const summary = JSON.parse(resumed.stdout)
  expect(summary).toMatchObject({ complete: true, rows: MANY, failed: MANY / 50 })
  // A pass whose response was not recorded existed when its row was sent again.
  expect(summary.created + summary.present).toBe(MANY - MANY / 50)
  expect(summary.alreadyDone).toBeGreaterThan(0)
  expect(await passCount(setup)).toBe(MANY - MANY / 50)
  const isBroken = (_: unknown, index: number) => index % 50 === 0
  const ids = rows.map(([id]) => id)
  expect(read(join(folder, 'links.csv')).map((link) => link.externalPassId)).toEqual(
    ids.filter((id, index) => !isBroken(id, index)),
  )
  expect(read(join(folder, 'failures.csv')).map((failure) => failure.externalPassId)).toEqual(ids.filter(isBroken))
})

test('a run outlasts a server that is killed and started again', async () => {
  const database = await migratedDatabase('sqlite')
  const server = await startServer({ database, ...onlyAnswers })
  const setup = await setUpOn(server)
  const { folder, templateId } = setup
  writeFileSync(join(folder, 'file.csv'), csv(rowsFor(MANY)))
  const { child, release } = await startRun(setup, ['issue', 'file.csv', '--template', templateId, '--json', ...slowly])
  await server.kill()
  release()
  await hostServer({ database, ...onlyAnswers, token: server.token, port: new URL(server.url).port })
  const { exitCode, stdout, stderr } = await child
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('trying again in')])
  const summary = JSON.parse(stdout)
  expect(summary).toMatchObject({ complete: true, failed: 0 })
  // A pass whose response was lost existed when its row was sent again.
  expect(summary.created + summary.present).toBe(MANY)
  expect(await passCount(setup)).toBe(MANY)
})

test('a rate-limited run waits for the time of Retry-After', async () => {
  const setup = await setUp({ ...onlyAnswers, env: { PASSES_RATE_LIMIT: '1', PASSES_RATE_BURST: '5' } })
  const { server, folder, templateId } = setup
  writeFileSync(join(folder, 'file.csv'), csv(rowsFor(300)))
  const { exitCode, stderr } = await run(['issue', 'file.csv', '--template', templateId], server, { cwd: folder })
  expect(exitCode).toBe(0)
  expect(stderr).toContain('trying again in 1.0 s')
})

test('a dry run shows the outcome of each row, writes the failing ones, and makes no pass or journal', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  const rows = rowsFor(120)
  writeFileSync(join(folder, 'good.csv'), csv(rows))
  rows[110]![2] = ''
  writeFileSync(join(folder, 'broken.csv'), csv(rows))
  const args = ['--template', templateId, '--dry-run', '--json']
  const good = await run(['issue', 'good.csv', ...args], server, { cwd: folder })
  expect([good.exitCode, JSON.parse(good.stdout)]).toMatchObject([
    0,
    { dryRun: true, created: 120, present: 0, failed: 0 },
  ])
  const broken = await run(['issue', 'broken.csv', ...args, '--failures', 'failures.csv'], server, { cwd: folder })
  expect([broken.exitCode, JSON.parse(broken.stdout)]).toMatchObject([
    1,
    { dryRun: true, created: 119, failed: 1, errors: [{ line: 112, externalPassId: 'T-110' }] },
  ])
  expect(read(join(folder, 'failures.csv'))).toHaveLength(1)
  expect(existsSync(join(folder, 'good.csv.journal'))).toBe(false)
  expect(await passCount(setup)).toBe(0)
})

test("a second file with another name for an ID fails that row, and shows no link to another's pass", async () => {
  const { server, folder, templateId } = await setUp()
  writeFileSync(join(folder, 'first.csv'), csv([['T-1', 'Ada', '1', '']]))
  writeFileSync(join(folder, 'second.csv'), csv([['T-1', 'Eve', '1', '']]))
  const issue = (file: string, ...args: string[]) => {
    return run(['issue', file, '--template', templateId, ...args], server, { cwd: folder })
  }
  expect(await issue('first.csv')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Created +1$/m) })
  const plan = await issue('second.csv', '--dry-run')
  expect([plan.exitCode, plan.stdout]).toEqual([
    1,
    expect.stringMatching(/^Plan: [\s\S]*^Created +0$[\s\S]*^Differs +1$/m),
  ])
  expect(plan.stdout).toMatch(/^Differs:\n {2}Line 2 \(T-1\): DIFFERS: In pass [0-9a-f-]+, label is "Ada"$/m)
  const second = await issue('second.csv', '--out', 'links.csv')
  expect([second.exitCode, second.stdout]).toEqual([1, expect.stringMatching(/^Created +0$[\s\S]*^Differs +1$/m)])
  expect(second.stderr).toContain('use --existing update to change them')
  expect(read(join(folder, 'links.csv'))).toEqual([])
})

test('replaces a file only with --force, unless an earlier run of the same input wrote the file', async () => {
  const { server, folder, templateId } = await setUp()
  const path = join(folder, 'file.csv')
  writeFileSync(path, csv([...rowsFor(2), ['T-9', '', '9', '']]))
  const links = join(folder, 'links.csv')
  writeFileSync(links, 'kept\n')
  const issue = (...args: string[]) => run(['issue', ...args, '--template', templateId], server, { cwd: folder })
  const outputs = ['--out', 'links.csv', '--failures', 'failures.csv']
  for (const flag of ['--out', '--failures']) {
    const rejected = await issue('file.csv', flag, 'links.csv')
    expect([rejected.exitCode, rejected.stderr]).toEqual([1, 'Error: links.csv already exists; --force replaces it.'])
  }
  expect([readFileSync(links, 'utf8'), existsSync(`${path}.journal`)]).toEqual(['kept\n', false])
  expect(await issue('file.csv', ...outputs, '--force')).toMatchObject({ exitCode: 1 })
  expect(read(links)).toHaveLength(2)
  for (const args of [[], ['--restart']]) {
    expect((await issue('file.csv', ...outputs, ...args)).stderr).not.toContain('already exists')
  }
  writeFileSync(path, csv(rowsFor(4)))
  expect(await issue('file.csv', ...outputs)).toMatchObject({ exitCode: 0 })
  expect(read(links)).toHaveLength(4)
  writeFileSync(join(folder, 'other.csv'), csv(rowsFor(1)))
  expect((await issue('other.csv', '--out', 'links.csv')).stderr).toContain('links.csv already exists')
  // If stdout is a file, /dev/stdout must not be opened a second time.
  const stdout = await issue('other.csv', '--out', '/dev/stdout')
  expect([stdout.exitCode, stdout.stdout.split('\n').length]).toEqual([0, 2])
})

test.each(['-', '/dev/stdout'])('writes only the failed rows to stdout with --failures %s', async (failures) => {
  const { server, folder, templateId } = await setUp()
  writeFileSync(join(folder, 'file.csv'), csv([['T-1', 'Ada', '', '']]))
  const args = ['issue', 'file.csv', '--template', templateId, '--failures', failures]
  for (const mode of [[], ['--dry-run']]) {
    const { stdout, stderr } = await run([...args, ...mode], server, { cwd: folder })
    expect(stdout).toBe('externalPassId,label,seat,day,error\nT-1,Ada,,,seat: Is required (Seat)')
    expect(stderr).toMatch(/^Rows +1$/m)
  }
  expect(existsSync(join(folder, 'file.csv.journal'))).toBe(false)
  const both = await run([...args, '--out', '-'], server, { cwd: folder })
  expect([both.exitCode, both.stderr]).toEqual([
    2,
    expect.stringContaining('Only one of --out - and --failures - can write'),
  ])
})

test('reads and writes semicolons, a byte order mark, CRLF, quotes, and empty lines unchanged', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  const dialect = { delimiter: ';', newline: '\r\n', bom: '\uFEFF' }
  const rows = [
    ['T-1', '"Ada; Gräfin ""Lovelace"""', '1', ''],
    ['', '', '', ''],
    ['T-2', '李𠮷祥', '', ''],
  ]
  writeFileSync(join(folder, 'file.csv'), `${csv(rows, dialect)}\r\n\r\n`)
  const args = ['issue', 'file.csv', '--template', templateId, '--out', 'links.csv', '--failures', 'failures.csv']
  const { exitCode } = await run(args, server, { cwd: folder })
  expect(exitCode).toBe(1)
  expect(read(join(folder, 'links.csv'), ';')).toMatchObject([
    { externalPassId: 'T-1', label: 'Ada; Gräfin "Lovelace"' },
  ])
  expect(readFileSync(join(folder, 'failures.csv'), 'utf8')).toBe(
    '\uFEFFexternalPassId;label;seat;day;error\r\nT-2;李𠮷祥;;;seat: Is required (Seat)\r\n',
  )
})

test('--existing update shows its plan first, asks on a terminal, and does not ask with --yes', async () => {
  const { server, folder, templateId } = await setUp()
  const path = join(folder, 'file.csv')
  const issue = ['issue', path, '--template', templateId]
  writeFileSync(path, csv([['T-1', 'Ada', '1', '']]))
  expect(await run(issue, server)).toMatchObject({ exitCode: 0 })
  writeFileSync(path, csv([['T-1', 'Ada', '2', ''], ...rowsFor(7, 'N')]))
  const label = async () => (await server.client.passes.list({ query: { externalPassId: 'T-1' } })).items[0]!.variables

  const terminal = openTerminal([...issue, '--existing', 'update'], server, { rows: 40 })
  await terminal.shows('About to create 7 and update 1. Continue? [y/N]')
  for (const line of [/^Created +7$/m, /^Updated +1$/m, /^Updated:\n {2}Line 2 \(T-1\)$/m, /^ {2}and 2 more$/m]) {
    expect(terminal.screen.text()).toMatch(line)
  }
  terminal.type('n\r')
  expect(await terminal.ended).toBe(1)
  expect(await label()).toEqual({ seat: '1' })

  const { exitCode, stderr, stdout } = await run([...issue, '--existing', 'update', '--yes', '--json'], server)
  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^Plan: [\s\S]*^Updated +1$/m)])
  expect(JSON.parse(stdout)).toMatchObject({ created: 7, updated: 1, dryRun: false })
  expect(await label()).toEqual({ seat: '2' })
})

test('--out - writes the links to stdout and everything else to stderr, of a header in the words of people', async () => {
  const { server, folder, templateId } = await setUp()
  const rows = csv(rowsFor(120)).replace('externalPassId,label,seat', 'External Pass ID,Label,SEAT')
  writeFileSync(join(folder, 'file.csv'), rows)
  const args = ['issue', 'file.csv', '--template', templateId, '--out', '-']
  for (const said of [/^Created +120$/m, /^Present +120$/m]) {
    const { exitCode, stdout, stderr } = await run(args, server, { cwd: folder })
    expect([exitCode, stderr]).toEqual([0, expect.stringMatching(said)])
    expect(stderr).toContain('The column "External Pass ID" is used as externalPassId')
    const links: Record<string, string>[] = parse(stdout, { columns: true })
    expect(links.map((link) => link['External Pass ID'])).toEqual(rowsFor(120).map(([id]) => id))
    expect(links[7]!.smartLink).toContain(`${server.url}/l/`)
  }
  expect(existsSync(join(folder, 'file.csv.journal'))).toBe(false)
  expect(await run([...args, '--json'], server, { cwd: folder })).toMatchObject({ exitCode: 2 })
})

test('- reads stdin and keeps no journal', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  const input = csv(rowsFor(150))
  const args = ['issue', '-', '--template', templateId, '--json']
  const { exitCode, stdout } = await run(args, server, { cwd: folder, input })
  expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { file: '-', created: 150, journal: null }])
  expect(await passCount(setup)).toBe(150)
})

test('reads a named pipe like stdin, once and without a journal, and never writes to one', async () => {
  const setup = await setUp()
  const { server, folder, templateId } = setup
  execFileSync('mkfifo', [join(folder, 'rows'), join(folder, 'links')])
  const args = ['issue', 'rows', '--template', templateId, '--json']
  const issued = run(args, server, { cwd: folder })
  await writeFile(join(folder, 'rows'), csv(rowsFor(3)))
  expect(JSON.parse((await issued).stdout)).toMatchObject({ file: 'rows', created: 3, journal: null })
  for (const flag of ['--out', '--failures']) {
    const { exitCode, stdout } = await run([...args, flag, 'links'], server, { cwd: folder })
    expect([exitCode, JSON.parse(stdout).error.message]).toEqual([2, 'links is a pipe, but a file is required'])
  }
  // `--failures /dev/null` discards the failures.
  writeFileSync(join(folder, 'file.csv'), `${csv(rowsFor(3))}T-9,,9,2027-05-31\n`)
  const thrown = ['issue', 'file.csv', ...args.slice(2), '--failures', '/dev/null']
  expect(JSON.parse((await run(thrown, server, { cwd: folder })).stdout)).toMatchObject({ present: 3, failed: 1 })
  expect(await passCount(setup)).toBe(3)
})

test('Ctrl-C stops at once while a pipe is idle', async () => {
  const setup = await setUp()
  const child = execa('node', [program, 'issue', '-', '--template', setup.templateId, '--json'], {
    cwd: setup.folder,
    env: environment(setup),
    reject: false,
  })
  child.stdin.write(csv(rowsFor(150)))
  await eventually(async () => expect(await passCount(setup)).toBe(100), { interval: 50 })
  child.kill('SIGINT')
  const { exitCode, stdout } = await child
  expect([exitCode, JSON.parse(stdout)]).toMatchObject([
    130,
    { error: { code: 'INTERRUPTED', details: { rows: 100 } } },
  ])
})

test('rejects a header that does not match with a list before it sends anything', async () => {
  const { server, folder, templateId } = await setUp()
  writeFileSync(join(folder, 'file.csv'), 'ticket,name\n1,Ada\n')
  const { exitCode, stderr } = await run(['issue', 'file.csv', '--template', templateId], server, { cwd: folder })
  expect(exitCode).toBe(1)
  for (const words of ['--external-id-column', '--label-column', 'seat (Seat)']) expect(stderr).toContain(words)
})
