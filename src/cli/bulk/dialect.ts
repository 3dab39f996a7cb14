import { stringify } from 'csv-stringify/sync'
import { CliError } from '../command/errors.ts'
import { escapeCell } from './spreadsheet-cells.ts'

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
export function detectDialect(head: Buffer): Omit<Dialect, 'rawCells'> {
  if (head[0] === 0xff || head[0] === 0xfe) {
    throw new CliError('The file is not UTF-8', { hint: 'save it as "CSV UTF-8".' })
  }
  const text = head.toString('utf8')
  const bom = text.startsWith('\uFEFF')
  const { line, newline } = firstLine(text)
  const unquoted = line.replaceAll(/"[^"]*"/g, '')
  const counts = delimiters.map((delimiter) => unquoted.split(delimiter).length)
  return { delimiter: delimiters[counts.indexOf(Math.max(...counts))]!, newline: newline ?? '\n', bom }
}

export function firstLineEnds(head: Buffer): boolean {
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
  const match = /^\uFEFF?[\r\n]*(?:"[^"]*"|[^"\r\n])+?(\r\n|\n|\r(?=[\s\S]))/.exec(text)
  return match ? { line: match[0], newline: match[1] as Dialect['newline'] } : { line: text, newline: undefined }
}
