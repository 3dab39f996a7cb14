import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonLines } from '../../../src/cli/arguments/list-flags.ts'
import { type Dialect, escapeCell, formatRows, openCsv, unescapeCell } from '../../../src/cli/bulk/csv.ts'
import { csvOf } from '../../../src/cli/list/csv.ts'

test.each([
  '=1+1',
  '+cmd|" /C calc"!A0',
  '-2+A1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\n=2',
  '＝1',
  '=',
  '-',
  "'=1",
  "''@x",
  '+351 A1',
  '-1+1',
])('writes %j with a leading apostrophe', (cell) => {
  expect(escapeCell(cell)).toBe(`'${cell}`)
  expect(unescapeCell(`'${cell}`)).toBe(cell)
})

test.each([
  '+351 21 000',
  '+1 (555) 123-4567',
  '+49/30/1234',
  '-12.5',
  '-12,5',
  '+3',
  '-.5',
  '-1e-7',
  '-5%',
  '-1 234,50',
  '',
  'Ada',
  "O'Hara",
  "'tis",
  'a=b',
  ' =x',
  "'",
  "'12",
  "'+351 21 000",
])('writes and reads %j unchanged', (cell) => {
  expect(escapeCell(cell)).toBe(cell)
  expect(unescapeCell(cell)).toBe(cell)
})

const hostile = fc.string({ unit: fc.constantFrom(...'=+-@\t\r\n\'",;. 0aé'.split('')), maxLength: 8 })

test('escapes cells that spreadsheets would run as formulas, and reads all cells back unchanged', async () => {
  const dialects = fc.record<Dialect>({
    delimiter: fc.constantFrom(',', ';', '\t'),
    newline: fc.constantFrom('\n', '\r\n'),
    bom: fc.constant(false),
    rawCells: fc.boolean(),
  })
  const rows = fc.array(fc.tuple(fc.oneof(hostile, fc.string()), hostile), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(rows, dialects, async (cells, dialect) => {
      // Rows without content are skipped.
      const written = cells.map(([a, b]) => [`id${a}`, b, a])
      const text = formatRows([['one', 'two', 'three'], ...written], dialect)
      const csv = await openCsv(Readable.from([Buffer.from(text)]), dialect)
      const found: string[][] = []
      for await (const row of csv.rows) found.push(row.cells)
      expect(found).toEqual(written)
    }),
  )
  fc.assert(
    fc.property(hostile, (cell) => {
      const escaped = escapeCell(cell)
      if (/^[=@\t\r]/.test(cell) || /^[+-].*[a-z=@]/i.test(cell)) expect(escaped).toMatch(/^'/)
      expect(unescapeCell(escaped)).toBe(cell)
    }),
  )
})

test('escapes CSV cells and headers for spreadsheets, except with raw cells; never escapes JSON', () => {
  const columns = [
    { name: '=name', value: (item: { name: string }) => item.name },
    { name: 'n', value: () => -3 },
  ]
  const items = [{ name: '=HYPERLINK("http://evil")' }]
  const write = (rawCells: boolean) => csvOf({ columns }, { header: true, rawCells })(items)
  expect(write(false)).toBe(`'=name,n\n"'=HYPERLINK(""http://evil"")",-3\n`)
  expect(write(true)).toBe(`=name,n\n"=HYPERLINK(""http://evil"")",-3\n`)
  expect(jsonLines(items)).toBe(`${JSON.stringify(items[0])}\n`)
})
