import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { stringify } from 'csv-stringify/sync'
import { CliError } from '../command/cli-error.ts'

export interface CsvRow {
  cells: string[]
  /** The last line of the row, counted from 1. */
  line: number
  /** The offset of the end of the row in the input, in bytes. */
  bytes: number
  problem: string | undefined
}

export interface CsvFile {
  dialect: Dialect
  header: string[]
  rows: AsyncIterable<CsvRow>
}

/** The maximum size of a row. A longer row probably contains an unclosed quote. */
const MAX_ROW_BYTES = 1024 * 1024
const MAX_HEADER_BYTES = 64 * 1024

/**
 * Reads CSV as a stream, in constant memory. Skips empty rows. Removes spreadsheet escaping from cells, unless raw
 * cells are requested. Also reads UTF-16, which spreadsheets call "Unicode text", with or without a byte order mark.
 * @throws CliError for an empty input, a workbook or other binary file, an unclosed quote, or a huge row
 */
export async function openCsv(
  source: AsyncIterable<Uint8Array>,
  { rawCells }: Pick<Dialect, 'rawCells'>,
): Promise<CsvFile> {
  const input = await decode(source[Symbol.asyncIterator]())
  const { chunks } = input
  // The whole header, and a preceding `sep=;` line.
  const whole = await readUntil((read) => hasHeader(read) || read.length >= MAX_HEADER_BYTES, chunks, input.head)
  const separator = separatorLine(whole)
  const head = whole.subarray(separator?.bytes ?? 0)
  const detected = detectDialect(head)
  const delimiter = separator?.delimiter ?? detected.delimiter
  const dialect = { ...detected, delimiter, bom: detected.bom || input.isUtf16 || separator?.bom === true, rawCells }
  const before = { line: separator ? 1 : 0, bytes: separator?.bytes ?? 0, scale: input.isUtf16 ? 2 : 1 }
  const meaning = (cells: string[]) => (rawCells ? cells : cells.map(unescapeCell))
  // The last row that the parser finished, even if it was not read yet. A parser error is in the row after it.
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
  // Ignore errors in this callback, because `pipeline` also passes them to the parser. The next read of a row throws
  // them.
  pipeline(Readable.from(joined(head, chunks)), parser, () => undefined)
  const records = parser[Symbol.asyncIterator]() as AsyncIterator<ParsedRecord>
  const first = await readable(() => records.next(), last)
  if (first.done) throw new CliError('The file is empty: its first line must name the columns')
  const header = meaning(first.value.record.map((name) => name.trim()))
  if (header.some((name) => NO_TEXT.test(name))) {
    const message = 'The first line, which must name the columns, is not valid UTF-8'
    throw new CliError(message, { code: 'NOT_CSV', hint: SAVE_AS_CSV })
  }
  return { dialect, header, rows: rowsOf(records, { columns: header.length, meaning, last, before }) }
}

/**
 * Characters that show that a file is not text: replacement characters from invalid UTF-8, and control characters. Line
 * breaks are excluded, because column names can contain them.
 */
const NO_TEXT = /\uFFFD|(?!\s)\p{Cc}/u

interface LastRead {
  line: number
}

/** The position in the input at which parsing starts. `scale` is the number of file bytes per parsed byte. */
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
    // Detect an unclosed quote, because its cell can contain the next rows. In a valid file, a cell whose text starts
    // with a quote is enclosed in quotes, and the quotes in it are doubled.
    if (cell.startsWith('"') && !raw.includes(`"${cell.replaceAll('"', '""')}"`)) {
      return 'A quote is opened, but not closed at the end of the cell'
    }
    if (cell.includes('\uFFFD')) return 'Is not valid UTF-8; save the file as UTF-8'
  }
  if (cells.length === columns) return undefined
  const surplus = cells.slice(columns)
  const extra = surplus.length > 0 ? `; extra cells: ${surplus.join(', ')}` : ''
  return `Has ${cells.length} cells, but the header has ${columns}${extra}`
}

async function readable<T>(read: () => Promise<T>, last: LastRead): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const isHuge = error.code === 'CSV_MAX_RECORD_SIZE'
    const why = isHuge ? 'is longer than 1 MiB: a quote is never closed, or a cell is too large' : NEVER_CLOSED
    throw new CliError(`The row that begins in line ${last.line + 1} ${why}`, {
      code: error.code,
      hint: 'fix the file and run again with --restart: completed rows are not repeated.',
      cause: error,
    })
  }
}

const NEVER_CLOSED = 'cannot be read: a quote in it is never closed'

/**
 * Decodes the input to UTF-8: the start that was read already (`head`), and the remaining `chunks`. Without a byte
 * order mark, detects UTF-16 by the zeros in every second byte of the header.
 * @throws CliError for a workbook
 */
async function decode(chunks: AsyncIterator<Uint8Array>) {
  const head = await readUntil((read) => read.length >= 4, chunks)
  const kind = workbooks.find(({ signature }) => head.subarray(0, signature.length).equals(signature))
  if (kind) throw new CliError(`The file is ${kind.name}, not CSV`, { code: 'NOT_CSV', hint: SAVE_AS_CSV })
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

const workbooks = [
  { name: 'a workbook (.xlsx or .ods) or another zip archive', signature: Buffer.from('PK\u0003\u0004', 'latin1') },
  { name: 'an old Excel workbook (.xls)', signature: Buffer.from([0xd0, 0xcf, 0x11, 0xe0]) },
]

const SAVE_AS_CSV =
  'open it as a spreadsheet, and save the sheet as "CSV UTF-8": this keeps the leading zeros of IDs, and the format ' +
  'of dates.'

/** Parses a line such as `sep=;`, which can precede the header in files for Excel. @throws CliError */
function separatorLine(head: Buffer) {
  const [line, mark, separator] = /^(\uFEFF?)sep=(.)(?:\r\n|\r|\n)/i.exec(head.toString('utf8')) ?? []
  if (line === undefined) return undefined
  const delimiter = delimiters.find((known) => known === separator)
  if (delimiter) return { delimiter, bom: mark !== '', bytes: Buffer.byteLength(line) }
  throw new CliError(`The first line sets sep=${separator}, which is not a supported delimiter`, {
    hint: 'save the file with commas, semicolons, or tabs between the columns.',
  })
}

/** Reads chunks until the read part is enough, or the input ends. */
async function readUntil(
  isEnough: (read: Buffer) => boolean,
  chunks: AsyncIterator<Uint8Array>,
  begun: Buffer = Buffer.alloc(0),
): Promise<Buffer> {
  let read = begun
  while (!isEnough(read)) {
    const next = await chunks.next()
    if (next.done) break
    read = Buffer.concat([read, next.value])
  }
  return read
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

/** The format of a CSV file. Output files use the format of the input. */
export interface Dialect {
  delimiter: ',' | ';' | '\t'
  newline: '\n' | '\r\n' | '\r'
  bom: boolean
  /** Whether cells are written without escaping formulas. */
  rawCells: boolean
}

/** Returns the format of files that are not written from another CSV file. */
export function outputDialect(options: Pick<Dialect, 'rawCells'>): Dialect {
  return { delimiter: ',', newline: '\n', bom: false, ...options }
}

const delimiters = [',', ';', '\t'] as const

/** Detects the format from the header line. The delimiter is the most frequent candidate outside quotes. */
function detectDialect(head: Buffer): Omit<Dialect, 'rawCells'> {
  const text = head.toString('utf8')
  const bom = text.startsWith('\uFEFF')
  const { line, newline } = firstLine(text)
  const unquoted = line.replaceAll(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => unquoted.split(delimiter).length)
  return { delimiter: delimiters[counts.indexOf(Math.max(...counts))]!, newline: newline ?? '\n', bom }
}

function hasHeader(head: Buffer): boolean {
  return firstLine(head.toString('utf8')).newline !== undefined
}

/** Formats rows as CSV, each with a trailing line break. */
export function formatRows(rows: readonly (readonly (string | null)[])[], dialect: Dialect): string {
  const { delimiter, newline, rawCells } = dialect
  const written = rawCells ? rows : rows.map((cells) => cells.map((cell) => cell && escapeCell(cell)))
  // Quote every kind of line break, because readers treat any of them as the end of a row.
  return stringify(written as (string | null)[][], { delimiter, record_delimiter: newline, quoted_match: /[\r\n]/ })
}

/** Finds the first line with content. Skips line breaks in quotes, and a final CR, which can be half of a CRLF. */
function firstLine(text: string): { line: string; newline: Dialect['newline'] | undefined } {
  const match =
    /^\uFEFF?(?:sep=.(?:\r\n|\n|\r)|(?!sep=.[\r\n]))[\r\n]*(?:"[^"]*"|[^"\r\n])+?(\r\n|\n|\r(?=[\s\S]))/i.exec(text)
  return match ? { line: match[0], newline: match[1] as Dialect['newline'] } : { line: text, newline: undefined }
}

/** The first characters of formulas, also in their full-width forms. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** Numbers such as +351 21 000, -12.5, and +1 (555) 123-4567. A spreadsheet does not run these as formulas. */
const NUMBER = /^[+-]\(?[.,]?\d[\d .,()\-/\u00A0\u202F]*(?:e[+-]?\d+)?%?$/i

/**
 * Adds a leading apostrophe to a cell that a spreadsheet would run as a formula, so that the cell is shown as text. If
 * the formula already has leading apostrophes, adds another one, so that reading restores the exact text.
 */
export function escapeCell(text: string): string {
  return isFormula(text) ? `'${text}` : text
}

export function unescapeCell(text: string): string {
  return text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text
}

function isFormula(text: string): boolean {
  const bare = text.replace(/^'+/, '')
  return FORMULA.test(bare) && !NUMBER.test(bare)
}
