import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JournalHead } from '../../../src/cli/bulk/bulk-journal.ts'
import { csvOf } from '../../../src/cli/list/csv.ts'
import { exportPages, openExportFile } from '../../../src/cli/scan-list/export-scans.ts'
import type { Page } from '../../../src/core/contract/schemas/common.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'

const head: JournalHead = {
  format: 2,
  server: 'http://a',
  workspaceId: 'w',
  command: 'scans export',
  settings: { format: 'csv', result: 'denied' },
}
const shape = {
  columns: [
    { name: 'n', value: (n: number) => n },
    { name: 'text', value: (n: number) => `,"${n}"\né` },
  ],
}

/** Yields pages of the numbers below `total`. Each cursor is the next number. */
async function* numbers(total: number, size: number, cursor = '0'): AsyncGenerator<Page<number>> {
  for (let offset = Number(cursor); offset < total || offset === 0; offset += size) {
    const items = Array.from({ length: Math.min(size, total - offset) }, (_, index) => offset + index)
    const hasMore = offset + size < total
    yield { items, total, limit: size, offset, hasMore, nextCursor: hasMore ? String(offset + size) : null }
    if (!hasMore) return
  }
}

interface Run {
  pages: number
  size: number
}

/** Runs an export and stops it after some pages. */
async function run(path: string, total: number, { pages, size }: Run, options = { restart: false }, of = head) {
  const stop = new AbortController()
  await using file = await openExportFile(path, of, { ...options, note: () => undefined })
  let written = 0
  return await exportPages<number>({
    pages: () => numbers(total, size, file.start?.cursor),
    format: csvOf(shape, { header: file.start === undefined, rawCells: false }),
    startRows: file.start?.rows ?? 0,
    write: async (text, point) => {
      await file.append(text, point)
      written += 1
      if (written === pages) stop.abort()
      return true
    },
    stop: stop.signal,
    showProgress: false,
    note: () => undefined,
  })
}

const whole = (total: number) => {
  const write = csvOf(shape, { header: true, rawCells: false })
  return write(Array.from({ length: total }, (_, n) => n))
}

test('an export ends with every row once and no journal, regardless of interruptions and crashes', async () => {
  const folder = temporaryFolder()
  const runs = fc.array(
    fc.record({ pages: fc.integer({ min: 1, max: 4 }), size: fc.integer({ min: 1, max: 7 }), torn: fc.string() }),
    { maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 40 }), runs, async (total, interrupted) => {
      const path = join(folder, 'ledger.csv')
      rmSync(path, { force: true })
      for (const { torn, ...some } of interrupted) {
        const { cursor } = await run(path, total, some)
        if (cursor === null) break
        // The data that a killed process wrote after its last note.
        appendFileSync(path, torn)
      }
      const end = await run(path, total, { pages: Number.POSITIVE_INFINITY, size: 5 })
      expect(end).toEqual({ rows: total, cursor: null })
      expect(readFileSync(path, 'utf8')).toBe(whole(total))
      expect(existsSync(`${path}.journal`)).toBe(false)
    }),
    { numRuns: 60 },
  )
})

test('keeps the unfinished export of other data unless --restart is set', async () => {
  const path = join(temporaryFolder(), 'ledger.csv')
  await run(path, 10, { pages: 2, size: 3 })
  const half = readFileSync(path, 'utf8')
  for (const [other, said] of [
    [{ ...head, server: 'http://b' }, 'against another server (http://a)'],
    [{ ...head, workspaceId: 'x' }, 'in another workspace'],
    [{ ...head, settings: { ...head.settings, result: 'accepted' } }, 'with another result (denied)'],
    [{ ...head, settings: { ...head.settings, passId: 'p' } }, 'with another passId (none)'],
  ] as const) {
    const going = run(path, 10, { pages: 2, size: 3 }, { restart: false }, other)
    await expect(going).rejects.toMatchObject({
      code: 'JOURNAL_MISMATCH',
      message: `${path}.journal contains an unfinished run ${said}`,
    })
  }
  expect(readFileSync(path, 'utf8')).toBe(half)
  const other = { ...head, settings: { format: 'csv' } }
  expect(await run(path, 10, { pages: 9, size: 3 }, { restart: true }, other)).toEqual({ rows: 10, cursor: null })
  expect(readFileSync(path, 'utf8')).toBe(whole(10))
})

test.each([
  ['was deleted', (path: string) => rmSync(path)],
  ['was cut', (path: string) => truncateSync(path, 5)],
])('restarts the export of a file that %s since', async (_, spoil) => {
  const path = join(temporaryFolder(), 'ledger.csv')
  await run(path, 10, { pages: 2, size: 3 })
  spoil(path)
  expect(await run(path, 10, { pages: 9, size: 3 })).toEqual({ rows: 10, cursor: null })
  expect(readFileSync(path, 'utf8')).toBe(whole(10))
})

test('the second of two exports to one file waits for the first and repeats rows that were cut off', async () => {
  const path = join(temporaryFolder(), 'ledger.csv')
  const notes: string[] = []
  const options = { restart: false, note: (message: string) => notes.push(message) }
  const first = await openExportFile(path, head, options)
  const waiting = openExportFile(path, head, options)
  await eventually(() => expect(notes).toEqual([expect.stringContaining('locked by another run')]))
  await first.append('1\n', { rows: 1, cursor: 'a' })
  await first[Symbol.asyncDispose]()
  const second = await waiting
  expect(second.start).toEqual({ rows: 1, bytes: 2, cursor: 'a' })
  await second.append('2\n', { rows: 2, cursor: 'b' })
  await second[Symbol.asyncDispose]()
  appendFileSync(`${path}.journal`, '{"rows":3,"by')
  truncateSync(path, 3)
  await using third = await openExportFile(path, head, options)
  expect(third.start).toEqual({ rows: 1, bytes: 2, cursor: 'a' })
  expect(readFileSync(path, 'utf8')).toBe('1\n')
})

test('rejects a file that is not a journal, ignores invalid points, and replaces a complete earlier export', async () => {
  const path = join(temporaryFolder(), 'ledger.csv')
  writeFileSync(path, 'n,text\nof yesterday')
  expect(await run(path, 2, { pages: 9, size: 3 })).toEqual({ rows: 2, cursor: null })
  expect(readFileSync(path, 'utf8')).toBe(whole(2))
  const torn = { ...head, settings: 7 }
  for (const journal of [
    'my own notes\n',
    '{"format":2}\n{"rows":1,"bytes":1,"cursor":"c"}\n',
    `${JSON.stringify(torn)}\n`,
  ]) {
    writeFileSync(`${path}.journal`, journal)
    await expect(run(path, 2, { pages: 9, size: 3 })).rejects.toThrow('is not a journal of passes')
    expect(readFileSync(path, 'utf8')).toBe(whole(2))
  }
  for (const line of ['7', '{"rows":"x","bytes":1,"cursor":"c"}', '{"rows":1,"bytes":1,"cursor":7}']) {
    writeFileSync(`${path}.journal`, `${JSON.stringify(head)}\n${line}\n`)
    expect(await run(path, 2, { pages: 9, size: 3 })).toEqual({ rows: 2, cursor: null })
  }
})
