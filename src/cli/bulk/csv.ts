import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { stringify } from 'csv-stringify/sync'
import { CliError } from '../command/errors.ts'
import { escapeCell, unescapeCell } from './spreadsheet-cells.ts'

/** A row of a CSV file, and where it stands. */
export interface CsvRow {
  cells: string[]
  /** Where the row ends, counted from 1. */
  line: number
  /** Bytes of the input up to the end of the row. */
  bytes: number
  /** Why the row cannot be read as its columns; undefined where it can. */
  problem: string | undefined
}

/** A CSV file that is read row by row. */
export interface CsvFile {
  dialect: Dialect
  header: string[]
  rows: AsyncIterable<CsvRow>
}

/** A row longer than this most likely is a quote that was never closed. */
const MAX_ROW_BYTES = 1024 * 1024
const MAX_HEADER_BYTES = 64 * 1024

/**
 * Reads CSV as a stream: memory does not grow with the file. Rows without any content are left out.
 * Cells mean what they did before they were written for a spreadsheet, unless they are to be taken raw.
 * UTF-16, as spreadsheets save "Unicode text", is read with a byte order mark and without one.
 * @throws CliError for an empty input, a workbook or whatever else is no text, a quote that never closes, or a huge row.
 */
export async function openCsv(
  source: AsyncIterable<Uint8Array>,
  { rawCells }: Pick<Dialect, 'rawCells'>,
): Promise<CsvFile> {
  const input = await decode(source[Symbol.asyncIterator]())
  const { chunks } = input
  const whole = await readHead(chunks, input.head)
  const separator = separatorLine(whole)
  const head = whole.subarray(separator?.bytes ?? 0)
  const detected = detectDialect(head)
  const delimiter = separator?.delimiter ?? detected.delimiter
  const dialect = { ...detected, delimiter, bom: detected.bom || input.isUtf16 || separator?.bom === true, rawCells }
  const before = { line: separator ? 1 : 0, bytes: separator?.bytes ?? 0, scale: input.isUtf16 ? 2 : 1 }
  const meaning = (cells: string[]) => (rawCells ? cells : cells.map(unescapeCell))
  // What was read before a failure, whether or not anybody took it: the place of the failure is after it.
  const last: LastRead = { line: before.line }
  const parser = parse({
    bom: true,
    delimiter: dialect.delimiter,
    info: true,
    on_record: (record, { lines }) => {
      last.line = before.line + lines
      return record
    },
    max_record_size: MAX_ROW_BYTES,
    raw: true,
    record_delimiter: dialect.newline === '\r' ? '\r' : ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
  })
  // Errors of the source reach the reader through the parser, which pipeline destroys with them.
  pipeline(Readable.from(joined(head, chunks)), parser, () => undefined)
  const records = parser[Symbol.asyncIterator]() as AsyncIterator<ParsedRecord>
  const first = await readable(() => records.next(), last)
  if (first.done) throw new CliError('The file is empty: its first line must name the columns')
  const header = meaning(first.value.record.map((name) => name.trim()))
  if (header.some((name) => NO_TEXT.test(name))) {
    const message = 'The first line, which must name the columns, holds bytes that are not text in UTF-8'
    throw new CliError(message, { code: 'NOT_CSV', hint: SAVE_AS_CSV })
  }
  return { dialect, header, rows: rowsOf(records, { columns: header.length, meaning, last, before }) }
}

/** What decoding leaves of other bytes than UTF-8, and control characters: another kind of file. A name may hold line breaks. */
const NO_TEXT = /\uFFFD|(?!\s)\p{Cc}/u

interface LastRead {
  line: number
}

/** What stands before the bytes that are parsed, and how many of the file each of them is worth. */
interface Before {
  line: number
  bytes: number
  scale: number
}

interface ParsedRecord {
  record: string[]
  raw: string
  info: { lines: number; bytes: number }
}

async function* rowsOf(
  records: AsyncIterator<ParsedRecord>,
  options: { columns: number; meaning: (cells: string[]) => string[]; last: LastRead; before: Before },
): AsyncGenerator<CsvRow> {
  const { columns, meaning, last, before } = options
  try {
    for (;;) {
      const next = await readable(() => records.next(), last)
      if (next.done) return
      const { record, raw, info } = next.value
      const problem = problemOf(record, raw, columns)
      const bytes = (before.bytes + info.bytes) * before.scale
      yield { cells: meaning(record), line: before.line + info.lines, bytes, problem }
    }
  } finally {
    await records.return?.()
  }
}

function problemOf(cells: string[], raw: string, columns: number): string | undefined {
  for (const cell of cells) {
    // A quote kept at the start of a cell is either doubled in the file, or opened one that was not closed where it
    // should be, and may have swallowed the next rows.
    if (cell.startsWith('"') && !raw.includes(`"${cell.replaceAll('"', '""')}"`)) {
      return 'A quote is opened and not closed where the cell ends'
    }
    if (cell.includes('\uFFFD')) return 'Holds bytes that are not UTF-8; save the file as UTF-8'
  }
  if (cells.length === columns) return undefined
  const surplus = cells.slice(columns)
  const extra = surplus.length > 0 ? `; after the last column stands ${surplus.join(', ')}` : ''
  return `Has ${cells.length} cells where the header has ${columns}${extra}`
}

async function readable<T>(read: () => Promise<T>, last: LastRead): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const isHuge = error.code === 'CSV_MAX_RECORD_SIZE'
    const why = isHuge ? 'is longer than 1 MiB: a quote that is never closed, or a huge cell' : NEVER_CLOSED
    throw new CliError(`The row that begins in line ${last.line + 1} ${why}`, {
      code: error.code,
      hint: 'mend the file and run again with --restart: what is done is not done twice.',
      cause: error,
    })
  }
}

const NEVER_CLOSED = 'cannot be read: a quote in it is never closed'

interface DecodedInput {
  head: Buffer
  /** The rest, in UTF-8. */
  chunks: AsyncIterator<Uint8Array>
  isUtf16: boolean
}

/**
 * The input in UTF-8. In UTF-16 every second byte of a header is zero, where there is no mark that says it.
 * @throws CliError for a workbook
 */
async function decode(chunks: AsyncIterator<Uint8Array>): Promise<DecodedInput> {
  let head = Buffer.alloc(0)
  while (head.length < 4) {
    const next = await chunks.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  const kind = workbooks.find(({ signature }) => head.subarray(0, signature.length).equals(signature))
  if (kind) throw new CliError(`The file is ${kind.name}, and not CSV`, { code: 'NOT_CSV', hint: SAVE_AS_CSV })
  const encoding = utf16Of(head)
  if (!encoding) return { head, chunks, isUtf16: false }
  const decoder = new TextDecoder(encoding)
  const toUtf8 = (bytes?: Uint8Array) => Buffer.from(decoder.decode(bytes, { stream: bytes !== undefined }))
  const decoded = async function* () {
    yield toUtf8(head)
    for await (const chunk of joined(Buffer.alloc(0), chunks)) yield toUtf8(chunk)
    yield toUtf8()
  }
  return { head: Buffer.alloc(0), chunks: decoded(), isUtf16: true }
}

function utf16Of(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const [a, b, c, d] = head
  if ((a === 0xff && b === 0xfe) || (a && b === 0 && c && d === 0)) return 'utf-16le'
  return (a === 0xfe && b === 0xff) || (a === 0 && b && c === 0 && d) ? 'utf-16be' : undefined
}

/** By their first bytes: a zip archive, and the compound file of before 2007. */
const workbooks = [
  { name: 'a workbook (.xlsx or .ods) or another zip archive', signature: Buffer.from('PK\u0003\u0004', 'latin1') },
  { name: 'an old Excel workbook (.xls)', signature: Buffer.from([0xd0, 0xcf, 0x11, 0xe0]) },
]

const SAVE_AS_CSV =
  'open it in the spreadsheet, and save the sheet as "CSV UTF-8": ids keep their zeros there, dates their form.'

interface SeparatorLine {
  delimiter: Dialect['delimiter']
  bom: boolean
  bytes: number
}

/**
 * The line `sep=;` with which files for Excel may begin, and which is no row.
 * @throws CliError for a separator that is not read here
 */
function separatorLine(head: Buffer): SeparatorLine | undefined {
  const [line, mark, separator] = /^(\uFEFF?)sep=(.)(?:\r\n|\r|\n)/i.exec(head.toString('utf8')) ?? []
  if (line === undefined) return undefined
  const delimiter = delimiters.find((known) => known === separator)
  if (delimiter) return { delimiter, bom: mark !== '', bytes: Buffer.byteLength(line) }
  throw new CliError(`The first line says sep=${separator}, and columns are not read apart by that`, {
    hint: 'save it with commas, semicolons or tabs between the columns.',
  })
}

/** Enough of the input to see the whole header, and a line `sep=;` before it. */
async function readHead(chunks: AsyncIterator<Uint8Array>, begun: Buffer): Promise<Buffer> {
  let head = begun
  while (!firstLineEnds(head) && head.length < MAX_HEADER_BYTES) {
    const next = await chunks.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

async function* joined(head: Buffer, chunks: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head
  try {
    for (;;) {
      const next = await chunks.next()
      if (next.done) return
      yield next.value
    }
  } finally {
    await chunks.return?.()
  }
}

/** How a CSV file is written; what is written from it is written the same way. */
export interface Dialect {
  delimiter: ',' | ';' | '\t'
  newline: '\n' | '\r\n' | '\r'
  bom: boolean
  /** Cells stand as they are, even where a spreadsheet would take them for formulas. */
  rawCells: boolean
}

const delimiters = [',', ';', '\t'] as const

/** Read off the header line: the delimiter that stands there most often outside quotes. */
function detectDialect(head: Buffer): Omit<Dialect, 'rawCells'> {
  const text = head.toString('utf8')
  const bom = text.startsWith('\uFEFF')
  const { line, newline } = firstLine(text)
  const unquoted = line.replaceAll(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => unquoted.split(delimiter).length)
  return { delimiter: delimiters[counts.indexOf(Math.max(...counts))]!, newline: newline ?? '\n', bom }
}

function firstLineEnds(head: Buffer): boolean {
  return firstLine(head.toString('utf8')).newline !== undefined
}

/** Rows as the text of a file, each ended with a line break. */
export function formatRows(rows: readonly (readonly (string | null)[])[], dialect: Dialect): string {
  const { delimiter, newline, rawCells } = dialect
  const written = rawCells ? rows : rows.map((cells) => cells.map((cell) => cell && escapeCell(cell)))
  // A line break that is not the one between rows would be one for whoever reads it.
  return stringify(written as (string | null)[][], { delimiter, record_delimiter: newline, quoted_match: /[\r\n]/ })
}

/** Empty lines first do not count, a line break inside quotes is none, and a CR at the very end may be half a CRLF. */
function firstLine(text: string): { line: string; newline: Dialect['newline'] | undefined } {
  const match =
    /^\uFEFF?(?:sep=.(?:\r\n|\n|\r)|(?!sep=.[\r\n]))[\r\n]*(?:"[^"]*"|[^"\r\n])+?(\r\n|\n|\r(?=[\s\S]))/i.exec(text)
  return match ? { line: match[0], newline: match[1] as Dialect['newline'] } : { line: text, newline: undefined }
}
