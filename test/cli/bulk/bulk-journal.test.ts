import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  atStart,
  fingerprint,
  type JournalEntry,
  type JournalHead,
  openFileJournal,
} from '../../../src/cli/bulk/bulk-journal.ts'
import { describeFailure } from '../../../src/cli/command/failure.ts'
import { FileInUseError } from '../../../src/files/file-lock.ts'
import { eventually } from '../../support/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'passes-journal-'))
afterAll(() => rmSync(root, { recursive: true }))

const ignore = () => undefined

let folder: string
let path: string
let head: JournalHead

beforeEach(() => {
  folder = mkdtempSync(join(root, 'run-'))
  path = join(folder, 'file.csv.journal')
  head = {
    format: 2,
    file: { bytes: 10, modified: 1, start: 'abc' },
    server: 'http://127.0.0.1:3000',
    workspaceId: 'w',
    command: 'issue',
    settings: { '--template': 't', '--label-column': 'label' },
    out: null,
    failures: null,
  }
})

const entry = (rows: number, more: Partial<JournalEntry> = {}): JournalEntry => ({
  ...atStart,
  rows,
  counts: { created: rows },
  bytes: rows * 10,
  ...more,
})

async function write(...entries: JournalEntry[]) {
  await using journal = await openFileJournal(path, head, { restart: false, note: ignore })
  for (const next of entries) journal.append(next)
}

async function start(options: { restart?: boolean } = {}): Promise<JournalEntry> {
  await using journal = await openFileJournal(path, head, { restart: false, note: ignore, ...options })
  return journal.start ?? atStart
}

test('a journal returns the last point that was written', async () => {
  expect(await start()).toEqual(atStart)
  await write(entry(100), entry(200))
  expect(await start()).toEqual(entry(200))
})

test('cuts off a last line torn by a crash at any place, and continues after the previous line', async () => {
  await write(entry(100), entry(200))
  const whole = readFileSync(path, 'utf8')
  const lastLine = whole.lastIndexOf('\n', whole.length - 2) + 1
  for (let cut = lastLine; cut < whole.length; cut += 1) {
    writeFileSync(path, whole.slice(0, cut))
    expect(await start()).toEqual(entry(100))
    await write(entry(300))
    expect(await start()).toEqual(entry(300))
  }
})

test('a journal whose first line is torn starts again', async () => {
  await write(entry(100))
  truncateSync(path, 20)
  expect(await start()).toEqual(atStart)
})

test.each<[string, Partial<JournalHead>]>([
  ['another version of this file', { file: { bytes: 10, modified: 2, start: 'abc' } }],
  ['another server', { server: 'http://127.0.0.1:4000' }],
  ['another workspace', { workspaceId: 'v' }],
  ['another command', { command: 'update' }],
  ['another --template', { settings: { '--template': 'u', '--label-column': 'label' } }],
  [
    'another --template-version',
    { settings: { '--template': 't', '--label-column': 'label', '--template-version': '2' } },
  ],
  ['other files', { out: '/tmp/links.csv' }],
])('rejects a new run over %s while a run is unfinished, and replaces a finished one', async (what, change) => {
  await write(entry(100))
  Object.assign(head, change)
  await expect(start()).rejects.toThrow(what)
  expect(await start({ restart: true })).toEqual(atStart)
  await write(entry(100, { complete: true }))
  head = { ...head, file: { ...head.file!, modified: 3 } }
  expect(await start()).toEqual(atStart)
})

test('does not repeat a complete update because of other output files', async () => {
  head.command = 'update'
  await write(entry(100, { complete: true }))
  Object.assign(head, { failures: '/tmp/failures.csv' })
  await expect(start()).rejects.toMatchObject({
    message: `${path} contains a complete run with other files to write (--out none, --failures none)`,
    hint: expect.stringMatching(/^all rows are already done.*--restart/),
  })
  expect(await start({ restart: true })).toEqual(atStart)
})

test('repeats a complete run with other output files if it changes no pass twice', async () => {
  await write(entry(100, { complete: true }))
  Object.assign(head, { out: '/tmp/links.csv' })
  expect(await start()).toEqual(atStart)
})

test('says that a restart of an update writes the values of the file again', async () => {
  head.command = 'update'
  await write(entry(100))
  Object.assign(head, { out: '/tmp/links.csv' })
  await expect(start()).rejects.toMatchObject({ hint: expect.stringContaining('gets the values of the file again') })
})

test('a run that recorded no row blocks no other run', async () => {
  await write()
  Object.assign(head, { out: '/tmp/links.csv' })
  await write(entry(100))
  expect(await start()).toEqual(entry(100))
})

test('only a restart is offered if the file no longer exists', async () => {
  await write(entry(100))
  head.file = { ...head.file!, modified: 2 }
  await expect(start()).rejects.toMatchObject({ hint: expect.stringMatching(/^start over with --restart/) })
})

test('a run resumes if the written files contain what the journal recorded', async () => {
  head.out = join(folder, 'links.csv')
  await write(entry(100, { outBytes: 50 }), entry(200, { outBytes: 90 }))
  writeFileSync(head.out, 'x'.repeat(95))
  expect(await start()).toMatchObject({ rows: 200 })
  truncateSync(head.out, 60)
  expect(await start()).toMatchObject({ rows: 100 })
  rmSync(head.out)
  expect(await start()).toEqual(atStart)
})

test('failures of a complete run can be fixed in place without a restart', async () => {
  head.failures = join(folder, 'failures.csv')
  writeFileSync(head.failures, 'mended')
  await write(entry(100, { failuresBytes: 90, complete: true }))
  expect(await start()).toMatchObject({ rows: 100, complete: true })
})

test.each([1, 3])(
  'a journal of format %d with rows is rejected with advice, and one without rows is replaced',
  async (format) => {
    const rows = `${JSON.stringify({ rows: 100, bytes: 1000, succeeded: 100, failed: 0, complete: false })}\n`
    writeFileSync(path, `${JSON.stringify({ ...head, format })}\n${rows}`)
    await expect(start()).rejects.toMatchObject({
      code: 'JOURNAL_MISMATCH',
      hint: expect.stringContaining('--restart'),
    })
    expect(await start({ restart: true })).toEqual(atStart)
    writeFileSync(path, `${JSON.stringify({ ...head, format })}\n`)
    expect(await start()).toEqual(atStart)
  },
)

test.each([
  ['a text', 'my own notes\n'],
  ['a value', 'null\n'],
  ['a list', '[1]\n'],
  ['an object', '{"rows":5}\n'],
  ['a header without its file', '{"format":2}\n'],
  ['a header without its settings', `{"format":2,"file":{}}\n${JSON.stringify(entry(5))}\n`],
])('rejects and keeps a file next to the input that is not a journal: %s', async (_what, content) => {
  writeFileSync(path, content)
  await expect(start()).rejects.toMatchObject({
    code: 'JOURNAL_MISMATCH',
    message: `${path} is not a journal of passes`,
    hint: expect.stringContaining('--restart'),
  })
  expect(readFileSync(path, 'utf8')).toBe(content)
  expect(await start({ restart: true })).toEqual(atStart)
})

test.each([
  ['a text', 'x'],
  ['null', 'null'],
  ['a number', '7'],
  ['a list', '[]'],
  ['rows that are not a number', JSON.stringify({ ...entry(200), rows: 'x' })],
  ['a negative offset', JSON.stringify({ ...entry(200), bytes: -1 })],
  ['a fraction of a row', JSON.stringify({ ...entry(200), rows: 1.5 })],
  ['no counts', JSON.stringify({ ...entry(200), counts: null })],
  ['invalid counts', JSON.stringify({ ...entry(200), counts: { created: 1e308 } })],
])('ignores the journal from the first line that is not an entry: %s', async (_what, line) => {
  await write(entry(100))
  appendFileSync(path, `${line}\n${JSON.stringify(entry(300))}\n`)
  expect(await start()).toEqual(entry(100))
  await write(entry(200))
  expect(await start()).toEqual(entry(200))
})

test('rejects the second of two runs over one journal, names the first, and writes nothing', async () => {
  await using first = await openFileJournal(path, head, { restart: false, note: ignore })
  first.append(entry(100))
  const notes: string[] = []
  const second = openFileJournal(path, head, { restart: true, note: (message) => notes.push(message) })
  const failure = describeFailure(await second.catch((error: unknown) => error))
  expect(failure).toMatchObject({ code: 'JOURNAL_IN_USE', exitCode: 1, hint: expect.stringContaining('Ctrl-C') })
  expect(failure.details).toEqual({ journal: path })
  expect(notes).toEqual([expect.stringContaining('locked by another run')])
  first.append(entry(200))
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(4)
})

test('takes over the lock of a crashed run, which writes nothing if it resumes', async () => {
  await using asleep = await openFileJournal(path, head, { restart: false, note: ignore })
  asleep.append(entry(100))
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(`${path}.lock`, longAgo, longAgo)
  await using second = await openFileJournal(path, head, { restart: false, note: ignore })
  expect(second.start).toEqual(entry(100))
  await eventually(() => expect(() => asleep.append(entry(300))).toThrow(FileInUseError))
})

test('a fingerprint depends on the size, the time, and the start of a file', async () => {
  const file = join(folder, 'file.csv')
  writeFileSync(file, 'id,label\n')
  const before = await fingerprint(file)
  expect(await fingerprint(file)).toEqual(before)
  appendFileSync(file, '1,Ada\n')
  expect(await fingerprint(file)).not.toEqual(before)
})
