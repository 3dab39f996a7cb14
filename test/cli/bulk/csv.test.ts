import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { type CsvRow, openCsv } from '../../../src/cli/bulk/csv.ts'

async function read(content: string | Buffer, options: { chunkBytes?: number } = {}) {
  const bytes = Buffer.from(content)
  const size = options.chunkBytes ?? bytes.length
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  )
  const csv = await openCsv(Readable.from(chunks), { rawCells: false })
  const rows: CsvRow[] = []
  for await (const row of csv.rows) rows.push(row)
  return { ...csv, rows, cells: rows.map((row) => row.cells) }
}

test.each([
  ['a comma', 'id,label\n1,Ada\n'],
  ['a semicolon', 'id;label\n1;Ada\n'],
  ['a tab', 'id\tlabel\n1\tAda\n'],
  ['a byte order mark', '\uFEFFid,label\n1,Ada\n'],
  ['CRLF', 'id,label\r\n1,Ada\r\n'],
  ['CR alone', 'id,label\r1,Ada\r'],
  ['no line break at the end', 'id,label\n1,Ada'],
  ['empty lines everywhere', '\n\nid,label\n\n1,Ada\n\n\n'],
  ['lines of nothing but delimiters', 'id,label\n,\n1,Ada\n,\n'],
  ['quoted names', '"id","label"\n"1","Ada"\n'],
  ['spaces around the names', 'id , label\n1,Ada\n'],
  ['a first line with its delimiter', 'sep=;\r\nid;label\r\n1;Ada\r\n'],
  ['that line after a byte order mark', '\uFEFFsep=,\nid,label\n1,Ada\n'],
  ['UTF-16 with a mark', Buffer.from('\uFEFFid\tlabel\r\n1\tAda\r\n', 'utf16le')],
  ['UTF-16 without a mark', Buffer.from('id,label\n1,Ada\n', 'utf16le')],
  ['UTF-16 in the other byte order', Buffer.from('sep=,\nid,label\n1,Ada\n', 'utf16le').swap16()],
])('a file with %s gives the same header and rows', async (_, content) => {
  const { header, cells } = await read(content)
  expect(header).toEqual(['id', 'label'])
  expect(cells).toEqual([['1', 'Ada']])
})

test('reads a file whose chunks end anywhere: in a CRLF, a quote, or a character', async () => {
  const text = '\uFEFFsep=;\r\nid;label\r\n1;"Ada ""the first""; Gräfin\r\nLovelace"\r\n2;李𠮷祥\r\n'
  const expected = [
    ['1', 'Ada "the first"; Gräfin\r\nLovelace'],
    ['2', '李𠮷祥'],
  ]
  for (const content of [text, Buffer.from(text, 'utf16le')]) {
    for (const chunkBytes of [1, 2, 3, 5, 7]) expect((await read(content, { chunkBytes })).cells).toEqual(expected)
  }
})

test('reads delimiters and line breaks inside quoted header cells as text', async () => {
  const { header, dialect } = await read('"a,b,c,d";"two\nlines"\n1;2\n')
  expect(header).toEqual(['a,b,c,d', 'two\nlines'])
  expect(dialect).toEqual({ delimiter: ';', newline: '\n', bom: false, rawCells: false })
})

test('a row has its last line and its end offset in the file', async () => {
  const { rows } = await read('id,label\n1,Ada\n\n2,"two\nlines"\n3,Grace\n')
  expect(rows.map(({ line, bytes }) => [line, bytes])).toEqual([
    [2, 15],
    [5, 30],
    [6, 38],
  ])
  const after = await read(Buffer.from('sep=;\nid;label\n1;Ada\n', 'utf16le'))
  expect(after.rows.map(({ line, bytes }) => [line, bytes])).toEqual([[3, 42]])
})

test('reports rows with too few or too many cells and reads the next row', async () => {
  const { rows } = await read('id,label\n1\n2,Ada,extra\n3,Grace\n')
  expect(rows.map((row) => row.problem)).toEqual([
    'Has 1 cells, but the header has 2',
    'Has 3 cells, but the header has 2; extra cells: extra',
    undefined,
  ])
})

test('reads a quote inside a cell as text, and reports the row of an unclosed one', async () => {
  const { rows } = await read('id,label\n1,3" pipe\n2,"""Ada"" first"\n3,"Ada,\n4,foo"bar\n5,Grace\n')
  expect(rows[0]).toMatchObject({ cells: ['1', '3" pipe'], problem: undefined })
  expect(rows[1]).toMatchObject({ cells: ['2', '"Ada" first'], problem: undefined })
  expect(rows[2]!.problem).toContain('A quote is opened')
  expect(rows[3]).toMatchObject({ cells: ['5', 'Grace'], problem: undefined })
})

test('rejects a quote that is never closed, with its position', async () => {
  await expect(read('id,label\n1,Ada\n2,"Grace\n3,Joan\n')).rejects.toMatchObject({
    code: 'CSV_QUOTE_NOT_CLOSED',
    message: 'The row that begins in line 3 cannot be read: a quote in it is never closed',
  })
})

test('an unclosed quote in a large file fails at 1 MiB, without reading the rest into memory', async () => {
  const content = `id,label\n1,Ada\n2,"Grace\n${'3,Joan\n'.repeat(300_000)}`
  await expect(read(content, { chunkBytes: 65_536 })).rejects.toMatchObject({
    code: 'CSV_MAX_RECORD_SIZE',
    message: expect.stringContaining('line 3 is longer than 1 MiB: a quote is never closed, or a cell is too large'),
  })
})

test('reports bytes that are not valid UTF-8 as a problem of their row', async () => {
  const { rows } = await read(
    Buffer.concat([Buffer.from('id,label\n1,Andr'), Buffer.from([0xe9]), Buffer.from('\n2,Ada\n')]),
  )
  expect(rows.map((row) => row.problem)).toEqual([expect.stringContaining('not valid UTF-8'), undefined])
})

test('rejects an empty file, a workbook, and an invalid delimiter, with advice', async () => {
  await expect(read('')).rejects.toThrow('empty')
  const hint = /save the sheet as "CSV UTF-8"/
  await expect(read('PK\u0003\u0004…')).rejects.toMatchObject({ message: /\.xlsx or \.ods/, hint })
  await expect(read(Buffer.from('d0cf11e0a1b11ae1', 'hex'))).rejects.toMatchObject({ message: /\.xls\b/, hint })
  await expect(read('sep=|\nid|label\n')).rejects.toThrow('sep=|')
  const message = /^The first line, which must name the columns, is not valid UTF-8$/
  await expect(read(Buffer.from('\x7fELF\x02\x01\0\0,a\n1,2\n'))).rejects.toMatchObject({ message, hint })
  await expect(read(Buffer.from('id,gr\xf6\xdfe\n1,2\n', 'latin1'))).rejects.toMatchObject({ message, hint })
})
