import stringWidth from 'string-width'
import { inLargestUnit } from '../../core/formats.ts'

export interface Column<T> {
  title: string
  value: (row: T) => string | number | null
  /** Whether the column, such as an id that users copy, is never truncated. */
  whole?: true
}

export interface TableOptions {
  /** The width of the terminal; if undefined, nothing is truncated. */
  width?: number | undefined
}

/**
 * Formats rows under titles. If lines are too wide, truncates the widest columns that can be truncated, then omits the
 * last columns.
 */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[], options: TableOptions = {}): string {
  return tableWriter(columns, options)(rows)
}

/**
 * Formats rows that arrive page by page. The titles are written once, above the first page. The first page sets the
 * widths of the columns. On later pages, a column grows only into spare width of the terminal. On a terminal, cells
 * that are still too long are truncated.
 */
export function tableWriter<T>(columns: readonly Column<T>[], { width }: TableOptions = {}) {
  let widths: number[] | undefined
  return (rows: readonly T[]): string => {
    const cells = rows.map((row) => columns.map((column) => printable(String(column.value(row) ?? ''))))
    const lines = widths ? cells : [columns.map((column) => column.title.toUpperCase()), ...cells]
    widths = widths ? grownWidths(widths, cells, columns, width) : fittingWidths(lines, columns, width)
    const fitted = widths
    const fit = (cell: string, index: number) => {
      const isCut = width !== undefined && !columns[index]!.whole
      return pad(isCut ? cut(cell, fitted[index]!) : cell, fitted[index]!)
    }
    return lines.map((line) => line.slice(0, fitted.length).map(fit).join('  ').trimEnd()).join('\n')
  }
}

/** Formats one object as lines of label and value. Omits `null` values. */
export function details(entries: readonly (readonly [label: string, value: string | number | null])[]): string {
  const shown = entries.filter(([, value]) => value !== null)
  const width = Math.max(...shown.map(([label]) => textWidth(label)))
  return shown.map(([label, value]) => `${pad(label, width)}  ${printable(String(value))}`).join('\n')
}

export function textOrJson(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns external text on one line, without control or bidirectional characters, which could alter the display. */
export function printable(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '\uFFFD')
    .replaceAll(/[\u202A-\u202E\u2066-\u2069]/g, '')
}

/**
 * Formats a whole number with thousands separators: 12345 as 12,345. Avoids `Intl`, which takes longer to load than a
 * list takes to print.
 */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Formats a number with its noun: `1 pass`, `2,000 passes`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

export function localTimeOr<None extends string | null>(
  at: string | Date | null | undefined,
  none: None,
): string | None {
  return at ? localTime(at) : none
}

/** Returns a time in the local time zone, with its offset: 2027-05-31 21:30+02:00, or 2027-05-31 19:30Z. */
export function localTime(at: string | Date): string {
  const date = new Date(at)
  const ahead = -date.getTimezoneOffset()
  const local = new Date(date.getTime() + ahead * 60_000).toISOString().slice(0, 16).replace('T', ' ')
  if (ahead === 0) return `${local}Z`
  const [hours, minutes] = [Math.floor(Math.abs(ahead) / 60), Math.abs(ahead) % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return `${local}${ahead < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
}

/** Returns the local time of day: 21:30:05. */
export function clockTime(at: Date | string): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Formats seconds: 42 s, 3 min 20 s, 2 h 5 min. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole < 60) return `${seconds < 10 ? Math.round(seconds * 10) / 10 : whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

/** Formats the time from `since` to `now` in its largest unit: 42 s, 3 min, 2 h, 5 days. */
export function age(since: Date | string, now: Date): string {
  const { unit, count: amount } = inLargestUnit(Math.max(0, (now.getTime() - new Date(since).getTime()) / 1000))
  return unit === 'day' ? counted(amount, 'day') : `${amount} ${ageUnits[unit]}`
}

const ageUnits = { hour: 'h', minute: 'min', second: 's' }

/**
 * Returns the number of terminal columns of a text: East Asian characters and emoji take two, combining marks and
 * joiners none.
 */
export function textWidth(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text)
}

/** Splits a text into lines of at most `width` columns, between words if possible. An empty text has no lines. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = text
  while (textWidth(rest) > width) {
    const whole = fitting(rest, width)
    const gap = rest[whole.length] === ' ' ? whole.length : whole.lastIndexOf(' ')
    const end = gap > 0 ? gap : whole.length
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return rest === '' ? lines : [...lines, rest]
}

const NARROWEST = 8

function fittingWidths(
  lines: string[][],
  columns: readonly Column<never>[],
  available = Number.POSITIVE_INFINITY,
): number[] {
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => textWidth(line[index]!))))
  const gaps = 2 * (widths.length - 1)
  const widest = () => {
    const cuttable = widths.filter((width, index) => width > NARROWEST && !columns[index]!.whole)
    return widths.findIndex((width, index) => width === Math.max(...cuttable) && !columns[index]!.whole)
  }
  while (widths.reduce((sum, width) => sum + width, gaps) > available) {
    const index = widest()
    if (index < 0) return columns.length > 1 ? fittingWidths(lines, columns.slice(0, -1), available) : widths
    widths[index]! -= 1
  }
  return widths
}

/** Returns the column widths for later rows. No column shrinks. Columns that are never truncated grow first. */
function grownWidths(
  widths: readonly number[],
  cells: readonly string[][],
  columns: readonly Column<never>[],
  available = Number.POSITIVE_INFINITY,
): number[] {
  const grown = [...widths]
  let spare = available - widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1))
  const order = [...grown.keys()].sort(
    (a, b) => Number(columns[b]!.whole ?? false) - Number(columns[a]!.whole ?? false),
  )
  for (const index of order) {
    const more = Math.max(0, ...cells.map((cell) => textWidth(cell[index]!))) - grown[index]!
    const taken = Math.max(0, Math.min(more, spare))
    grown[index]! += taken
    spare -= taken
  }
  return grown
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

/** Truncates a text to at most `width` columns, including the ellipsis of a truncated text. */
export function cut(text: string, width: number): string {
  return textWidth(text) <= width ? text : `${fitting(text, width - 1)}…`
}

/** Converts an API name to words: `maxUses` is `max uses`. */
export function inWords(name: string, separator = ' '): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `${separator}${letter.toLowerCase()}`)
}

let segmenter: Intl.Segmenter | undefined

/** Returns the longest prefix that fits, but at least one character, so that a loop over the remaining text ends. */
function fitting(text: string, width: number): string {
  let kept = ''
  let left = width
  segmenter ??= new Intl.Segmenter()
  for (const { segment } of segmenter.segment(text)) {
    left -= textWidth(segment)
    if (kept !== '' && left < 0) break
    kept += segment
  }
  return kept
}

/**
 * Writes to stdout and waits until the content is flushed, so that a slow reader applies backpressure. Returns
 * `false` if the reader closed the pipe, as `| head` does.
 */
export function writeOut(content: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve, reject) => {
    process.stdout.write(content, (error) => {
      if (!error) resolve(true)
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false)
      else reject(error)
    })
  })
}
