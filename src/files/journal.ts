import { readFileSync } from 'node:fs'
import { parseJson } from '../core/json.ts'

/** The form of every journal: one JSON value a line, only ever appended. What a crash tore was never acknowledged to anybody. */
export interface JournalLine {
  /** Undefined where it was torn. */
  value: unknown
  /** Where the next line begins, in bytes. */
  end: number
}

/** The line of a value, with its end. */
export function journalLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

/** The lines of a journal; undefined where it was never begun. */
export function readJournal(path: string): JournalLine[] | undefined {
  try {
    return readJournalLines(readFileSync(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The lines that have an end, the torn among them; a last one without an end is left out. */
export function readJournalLines(journal: Uint8Array): JournalLine[] {
  const bytes = Buffer.from(journal.buffer, journal.byteOffset, journal.byteLength)
  const lines: JournalLine[] = []
  for (let start = 0; ; ) {
    const end = bytes.indexOf('\n', start) + 1
    if (end === 0) return lines
    lines.push({ value: parseJson(bytes.toString('utf8', start, end)), end })
    start = end
  }
}
