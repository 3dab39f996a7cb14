import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, openSync, readdirSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { journalLine, readJournalLines } from '../../../files/journal-lines.ts'
import { openPrivateSync, syncFolder } from '../../../files/private-file.ts'
import { LogRecord } from './records.ts'

/**
 * The logs in the folder of a door: each console appends to a file of its own and reads everyone's, so consoles beside
 * each other need no lock. A line that a crash tore was never shown to anybody.
 */

export interface OwnLog {
  readonly name: string
  /** Written and on the disk when it returns. */
  append(records: readonly LogRecord[]): void
  close(): void
}

export interface LogReader {
  /** What was appended since the last call. */
  read(): LogRecord[]
}

const SUFFIX = '.ndjson'

/** Logs that this process writes. */
const open = new Set<string>()

/** Names of the logs in a folder. */
export function listLogs(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith('log-') && name.endsWith(SUFFIX))
    .toSorted()
}

export function createLog(folder: string): OwnLog {
  const name = ['log', safeHostname(), process.pid, randomBytes(8).toString('hex')].join('-') + SUFFIX
  const file = openPrivateSync(join(folder, name), 'ax')
  syncFolder(folder)
  open.add(name)
  let isTorn = false
  return {
    name,
    append(records) {
      const text = records.map(journalLine).join('')
      const isBehindTorn = isTorn
      // A full disk may take a part: what comes next must begin on a line of its own.
      isTorn = true
      writeFileSync(file, isBehindTorn ? `\n${text}` : text)
      fsyncSync(file)
      isTorn = false
    },
    close() {
      open.delete(name)
      closeSync(file)
    },
  }
}

export function readLog(folder: string, name: string): LogReader {
  let position = 0
  return {
    read() {
      const lines = readJournalLines(readFrom(join(folder, name), position))
      position += lines.at(-1)?.end ?? 0
      return lines.flatMap(({ value }) => LogRecord.safeParse(value).data ?? [])
    },
  }
}

export function removeLog(folder: string, name: string): void {
  rmSync(join(folder, name), { force: true })
}

/**
 * Whether the console that wrote a log may still be writing. One on another machine cannot be seen, so it may; and so
 * may one whose number another program has by now, whose log then only stays longer.
 */
export function mayBeWritten(name: string): boolean {
  const [, host, pid] = /^log-(.*)-(\d+)-[0-9a-f]+\.ndjson$/.exec(name) ?? []
  if (host !== safeHostname()) return true
  // A container gives the same number to each program that it runs.
  if (Number(pid) === process.pid) return open.has(name)
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function readFrom(path: string, position: number): Buffer {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    // Its console removed it: all that it held is in the stored list.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
  try {
    const size = Math.max(0, fstatSync(file).size - position)
    if (size === 0) return Buffer.alloc(0)
    const buffer = Buffer.alloc(size)
    return buffer.subarray(0, readSync(file, buffer, 0, size, position))
  } finally {
    closeSync(file)
  }
}

function safeHostname(): string {
  return hostname().replaceAll(/[^A-Za-z0-9.]/g, '_')
}
