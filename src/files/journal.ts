import { closeSync, fstatSync, fsyncSync, openSync, readSync, truncateSync, writeFileSync } from 'node:fs'
import { parseJson } from '../core/json.ts'
import { openPrivateSync, replacePrivateSync } from './private-file.ts'

/**
 * A journal: what a program must still know after a crash, one JSON value a line, only ever appended. Bulk runs, exports of
 * scans, the consoles of a door and the emulators keep theirs in this form; each says only what its entries are. Who writes
 * to one alone says who opens it: runs and exports lock it (`openUnderLock`), a console has one of its own (`createJournal`), an
 * emulator is the only one in its folder.
 */
export interface JournalFile<Entry> {
  /** Writes the entries whole before it returns; not yet on the disk. @throws the error of the system, such as ENOSPC */
  append(...entries: readonly Entry[]): void
  /** Returns when all that was appended is on the disk. */
  sync(): void
  close(): void
}

/** A line of a journal that has its end. */
export interface JournalLine {
  /** Undefined where it was torn: what a crash tore was never acknowledged to anybody. */
  value: unknown
  /** Where the next line begins, in bytes from the beginning of the file. */
  end: number
}

/** Begins a journal with its first entries in one step; a crash leaves the file that was there or this one. */
export function beginJournal<Entry>(path: string, entries: readonly Entry[]): JournalFile<Entry> {
  replacePrivateSync(path, entries.map(lineOf).join(''))
  return journalOver(openPrivateSync(path, 'a'))
}

/** Makes an empty journal that nobody else writes to. @throws EEXIST where a file is there */
export function createJournal<Entry>(path: string): JournalFile<Entry> {
  return journalOver(openPrivateSync(path, 'ax'))
}

/** Goes on after the line that ends at `end`; what follows it, such as a torn line, is cut off. */
export function continueJournal<Entry>(path: string, end: number): JournalFile<Entry> {
  truncateSync(path, end)
  return journalOver(openPrivateSync(path, 'a'))
}

/**
 * The lines of a journal from a position on, 0 by default: the torn among them, but for a last one that has no end (yet).
 * Undefined where there is no file.
 */
export function readJournal(path: string, from = 0): JournalLine[] | undefined {
  const bytes = readFrom(path, from)
  if (!bytes) return undefined
  const lines: JournalLine[] = []
  for (let start = 0; ; ) {
    const end = bytes.indexOf('\n', start) + 1
    if (end === 0) return lines
    lines.push({ value: parseJson(bytes.toString('utf8', start, end)), end: from + end })
    start = end
  }
}

function journalOver<Entry>(file: number): JournalFile<Entry> {
  let isTorn = false
  return {
    append(...entries) {
      const text = entries.map(lineOf).join('')
      const isBehindTorn = isTorn
      // A full disk may take a part: what comes next must begin on a line of its own.
      isTorn = true
      writeFileSync(file, isBehindTorn ? `\n${text}` : text)
      isTorn = false
    },
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

function readFrom(path: string, position: number): Buffer | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const buffer = Buffer.alloc(Math.max(0, fstatSync(file).size - position))
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, position))
  } finally {
    closeSync(file)
  }
}
