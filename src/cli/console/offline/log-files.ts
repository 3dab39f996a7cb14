import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { LedgerReason, ScanContext } from '../../../core/contract/scan-shapes.ts'
import { createJournal, readJournal } from '../../../files/journal.ts'
import { syncFolder } from '../../../files/private-file.ts'

/** The records of a console's log, one per line. */

/** A decision made offline, in the format of POST /v1/scans/offline. */
const Decision = z.strictObject({
  kind: z.literal('verdict'),
  externalRef: z.string(),
  /** The snapshot that it was evaluated against. */
  snapshotId: z.string(),
  qrPayload: z.string().optional(),
  passId: z.string().optional(),
  /** The time of the scan. */
  scannedAt: z.string(),
  /** The validity date that it was evaluated for, and the resulting time of the scan. */
  validityDate: z.string().optional(),
  operationalAt: z.string().optional(),
  result: z.enum(['accepted', 'denied']),
  reason: LedgerReason,
  scanContextKey: z.string().optional(),
  deviceId: z.string().optional(),
  context: ScanContext.optional(),
  /** The accepted pass, which later evaluations need. */
  acceptedPassId: z.string().nullable(),
})
/** An offline decision that the server does not have yet. */
export type OfflineDecision = z.output<typeof Decision>

/** An accepted online scan that the stored list might not contain. */
const Accepted = z.strictObject({
  kind: z.literal('accepted'),
  passId: z.string(),
  scannedAt: z.string(),
  scanContextKey: z.string().nullable(),
  validityDate: z.string().optional(),
  recordedAt: z.string(),
})
/** A log record of an accepted online scan. */
export type AcceptedOnline = z.output<typeof Accepted>

/** A reversed scan, by its time in the ledger. */
const Reversed = z.strictObject({
  kind: z.literal('reversed'),
  passId: z.string(),
  scannedAt: z.string(),
  recordedAt: z.string(),
})
/** A log record of a reversed scan. */
export type ReversedScan = z.output<typeof Reversed>

/** The upload of a decision: the time at which the server recorded it, or `null` if it rejected it permanently. */
const Uploaded = z.strictObject({
  kind: z.literal('uploaded'),
  externalRef: z.string(),
  recordedAt: z.string().nullable(),
})
/** A log record of an upload. */
export type UploadedDecision = z.output<typeof Uploaded>

/** A line of a console's log. */
export const LogRecord = z.discriminatedUnion('kind', [Decision, Accepted, Reversed, Uploaded])
export type LogRecord = z.output<typeof LogRecord>

/**
 * The logs in the folder of a door. Each console appends to its own file and reads all files, so that concurrent
 * consoles need no lock. A line that a crash truncated was never shown to anyone.
 */

export interface OwnLog {
  readonly name: string
  /** Writes the records and flushes them to disk before it returns. */
  append(records: readonly LogRecord[]): void
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
    append(records) {
      journal.append(...records)
      journal.sync()
    },
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
      return lines.flatMap(({ value }) => LogRecord.safeParse(value).data ?? [])
    },
  }
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
