import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { OfflineDecision } from '../../../core/rules/door/own-scans.ts'
import { createJournal, readJournal } from '../../../files/journal.ts'
import { syncFolder } from '../../../files/private-file.ts'

/** An accepted online scan that the stored list might not contain. */
export interface AcceptedOnline {
  kind: 'accepted'
  externalRef?: string | undefined
  passId: string
  scannedAt: string
  scanContextKey: string | null
  validityDate?: string | undefined
  recordedAt: string
}

/** A reversal, by the time of its scan in the ledger. It is uploaded like a decision. */
export interface ReversedScan {
  kind: 'reversed'
  externalRef: string
  passId: string
  scannedAt: string
  undoes: { externalRef: string; scanId: string | null }
}

/** An upload: the time at which the server recorded it, or `null` if it rejected it permanently. */
export interface Uploaded {
  kind: 'uploaded'
  externalRef: string
  recordedAt: string | null
  scanId?: string | undefined
}

/** An attempt, before the server is asked. `at` is in milliseconds. */
export interface Attempted {
  kind: 'attempt'
  key: string
  externalRef: string
  at: number
}

/** The end of an attempt that leaves no other record. */
interface Settled {
  kind: 'settled'
  externalRef: string
}

/** A line of a console's log. */
export type LogRecord = OfflineDecision | AcceptedOnline | ReversedScan | Uploaded | Attempted | Settled

/**
 * The logs in the folder of a door. Each console appends to its own file and reads all files, so that concurrent
 * consoles need no lock. A line that a crash truncated was never shown to anyone.
 */

export interface OwnLog {
  readonly name: string
  /** Writes the records. */
  append(records: readonly LogRecord[]): void
  /** Returns when they are flushed to disk. */
  sync(): void
  close(): void
}

/** Follows the log of any console; see `readLog`. */
export interface LogReader {
  /** Returns the records appended since the last call. */
  read(): LogRecord[]
}

const SUFFIX = '.ndjson'

/** Logs that this process writes. */
const open = new Set<string>()

/** Returns the names of the logs in a folder. */
export function listLogs(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith('log-') && name.endsWith(SUFFIX))
    .toSorted()
}

/** Creates the log of this console, in a separate file. */
export function createLog(folder: string): OwnLog {
  const name = ['log', safeHostname(), process.pid, randomBytes(8).toString('hex')].join('-') + SUFFIX
  const journal = createJournal<LogRecord>(join(folder, name))
  syncFolder(folder)
  open.add(name)
  return {
    name,
    append: (records) => journal.append(...records),
    sync: journal.sync,
    close() {
      open.delete(name)
      journal.close()
    },
  }
}

/** Reads a log from its start, then the records added later. */
export function readLog(folder: string, name: string): LogReader {
  let position = 0
  return {
    read() {
      // A missing log was removed by its console: the stored list contains all of its records.
      const lines = readJournal(join(folder, name), position) ?? []
      position = lines.at(-1)?.end ?? position
      return lines.flatMap(({ value }) => (isRecord(value) ? [value] : []))
    },
  }
}

/** Whether a line is a record: one that a crash truncated is not. */
function isRecord(value: unknown): value is LogRecord {
  const { kind, externalRef } = (value ?? {}) as Partial<LogRecord>
  return kind === 'accepted' || (kind !== undefined && externalRef !== undefined)
}

/** Removes a log, if it exists. */
export function removeLog(folder: string, name: string): void {
  rmSync(join(folder, name), { force: true })
}

/**
 * Returns whether the console that wrote a log may still run. `true` for consoles on other machines, which cannot be
 * checked. If another program reuses the process id, the log is only kept longer.
 */
export function mayBeWritten(name: string): boolean {
  const [, host, pid] = /^log-(.*)-(\d+)-[0-9a-f]+\.ndjson$/.exec(name) ?? []
  if (host !== safeHostname()) return true
  // In a container, an earlier process can have had the same id.
  if (Number(pid) === process.pid) return open.has(name)
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function safeHostname(): string {
  return hostname().replaceAll(/[^A-Za-z0-9.]/g, '_')
}
