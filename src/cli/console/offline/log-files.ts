import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { LedgerReason, ScanContext } from '../../../core/contract/scan-shapes.ts'
import { createJournal, readJournal } from '../../../files/journal.ts'
import { syncFolder } from '../../../files/private-file.ts'

/** What a console writes into its log, one record a line. */

/** A decision that was made without the server, as POST /v1/scans/offline will take it. */
const Decision = z.strictObject({
  kind: z.literal('verdict'),
  externalRef: z.string(),
  /** The list that it was evaluated by. */
  snapshotId: z.string(),
  qrPayload: z.string().optional(),
  passId: z.string().optional(),
  /** When it was held up. */
  scannedAt: z.string(),
  /** As of which date it was evaluated, and when the scan stands for then. */
  validityDate: z.string().optional(),
  operationalAt: z.string().optional(),
  result: z.enum(['accepted', 'denied']),
  reason: LedgerReason,
  scanContextKey: z.string().optional(),
  deviceId: z.string().optional(),
  context: ScanContext.optional(),
  /** The pass that was let in; what later scans are evaluated by. */
  acceptedPassId: z.string().nullable(),
})
/** A decision in the log, until the server has it. */
export type OfflineDecision = z.output<typeof Decision>

/** An accepted scan that the server knows of and the stored list may not: passes that this console let in online. */
const Accepted = z.strictObject({
  kind: z.literal('accepted'),
  passId: z.string(),
  scannedAt: z.string(),
  scanContextKey: z.string().nullable(),
  validityDate: z.string().optional(),
  recordedAt: z.string(),
})
/** A scan that the server accepted, in the log. */
export type AcceptedOnline = z.output<typeof Accepted>

/** A scan that was taken back, by the moment it stands in the ledger for. */
const Reversed = z.strictObject({
  kind: z.literal('reversed'),
  passId: z.string(),
  scannedAt: z.string(),
  recordedAt: z.string(),
})
/** A scan that was taken back, in the log. */
export type ReversedScan = z.output<typeof Reversed>

/** The server has it: with the time it recorded it, or null where it refused it for good. */
const Uploaded = z.strictObject({
  kind: z.literal('uploaded'),
  externalRef: z.string(),
  recordedAt: z.string().nullable(),
})
/** The end of a decision in the log. */
export type UploadedDecision = z.output<typeof Uploaded>

/** One line of the log of a console. */
export const LogRecord = z.discriminatedUnion('kind', [Decision, Accepted, Reversed, Uploaded])
export type LogRecord = z.output<typeof LogRecord>

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

/** Follows the log of a console, this one or another; see readLog. */
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

/** Begins the log of this console, in a file that no other console writes to. */
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

/** Reads a log from its beginning, then what is added to it. */
export function readLog(folder: string, name: string): LogReader {
  let position = 0
  return {
    read() {
      // Where there is none, its console removed it: all that it held is in the stored list.
      const lines = readJournal(join(folder, name), position) ?? []
      position = lines.at(-1)?.end ?? position
      return lines.flatMap(({ value }) => LogRecord.safeParse(value).data ?? [])
    },
  }
}

/** Removes a log, if it is still there. */
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

function safeHostname(): string {
  return hostname().replaceAll(/[^A-Za-z0-9.]/g, '_')
}
