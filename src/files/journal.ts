import { closeSync, fsyncSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { parseJson } from '../core/json.ts'
import { ifMissing, openPrivateSync, replacePrivateSync, withPath } from './private-file.ts'

/**
 * A journal: an append-only file of state that must survive a crash, with one JSON value per line. Bulk runs, scan
 * exports, door consoles, and emulators keep journals with different entries. The code that opens a journal must ensure
 * that the journal has one writer. Runs and exports lock the file (`openUnderLock`), a console creates a new file
 * (`createJournal`), and an emulator is the only process that uses its folder.
 */
export interface JournalFile<Entry> {
  /** Writes the complete entries, but does not flush them to disk. @throws the system error, such as ENOSPC */
  append(...entries: readonly Entry[]): void
  /** Returns when all appended entries are flushed to disk. */
  sync(): void
  close(): void
}

export interface JournalLine {
  /**
   * The entry; `undefined` if the line is not valid JSON, because writing it failed. Such an entry was never
   * acknowledged.
   */
  value: unknown
  /** The offset of the next line, in bytes. */
  end: number
}

/** Creates a journal with its first entries atomically; a crash leaves either the previous file or the new one. */
export function beginJournal<Entry>(path: string, entries: readonly Entry[]): JournalFile<Entry> {
  replacePrivateSync(path, entries.map(lineOf).join(''))
  return openJournal(path, 'a')
}

/** Creates an empty journal for one writer. @throws EEXIST if the file exists */
export function createJournal<Entry>(path: string): JournalFile<Entry> {
  return openJournal(path, 'ax')
}

/** Opens an existing journal to append entries. Removes all bytes from the offset `end` on, such as a partial line. */
export function continueJournal<Entry>(path: string, end: number): JournalFile<Entry> {
  truncateSync(path, end)
  return openJournal(path, 'a')
}

/**
 * Reads the lines of a journal. Includes invalid lines, but not a last line without a newline. Returns `undefined` if
 * the file does not exist.
 */
export function readJournal(path: string): JournalLine[] | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    return ifMissing(undefined)(error)
  }
  const lines: JournalLine[] = []
  for (let start = 0; ; ) {
    const end = bytes.indexOf('\n', start) + 1
    if (end === 0) return lines
    lines.push({ value: parseJson(bytes.toString('utf8', start, end)), end })
    start = end
  }
}

function openJournal<Entry>(path: string, flags: 'a' | 'ax'): JournalFile<Entry> {
  const file = openPrivateSync(path, flags)
  let isTorn = false
  return {
    append(...entries) {
      const text = entries.map(lineOf).join('')
      const isBehindTorn = isTorn
      // A full disk can accept part of an entry. The next entry must then start on a new line to be readable.
      isTorn = true
      try {
        writeFileSync(file, isBehindTorn ? `\n${text}` : text)
      } catch (error) {
        throw withPath(error, path)
      }
      isTorn = false
    },
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
