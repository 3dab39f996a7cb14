import {
  acceptedScans,
  isListed,
  type ListedScan,
  type OfflineDecision,
  ownScanOf,
} from '../../../core/rules/door/own-scans.ts'
import type { AcceptedScan } from '../../../core/rules/redemption/use-record.ts'
import { makePrivateFolder } from '../../../files/private-file.ts'
import {
  type AcceptedOnline,
  type Attempted,
  createLog,
  type LogReader,
  type LogRecord,
  listLogs,
  mayBeWritten,
  type OwnLog,
  type ReversedScan,
  readLog,
  removeLog,
  type Uploaded,
} from './log-files.ts'

/**
 * The records of one door on this machine: decisions and reversals that are not uploaded yet, and scans that the stored
 * list does not contain. They are shared: a console also uploads the decisions of other consoles.
 */
export interface DoorStore {
  /** Flushes the records to disk before it returns. */
  append(...records: LogRecord[]): void
  /** Writes a record that must survive this process, but not a power failure. */
  note(record: LogRecord): void
  /** Returns the newest attempt of a key since a time, in milliseconds, that a dead console or this one did not finish. */
  openAttempt(key: string, since: number): Attempted | undefined
  /** Returns decisions and reversals that are not uploaded yet, oldest first, from all consoles. */
  pending(): (OfflineDecision | ReversedScan)[]
  /** Returns accepted scans of a pass, oldest first: those of the list generated at that time, and later ones. */
  acceptedScans(passId: string, listed: readonly ListedScan[], generatedAt: string): AcceptedScan[]
  /** Removes records that a list generated at that time contains and that the server has. */
  prune(generatedAt: string): void
  close(): void
}

/** The age at which an attempt is no longer repeated, in milliseconds. */
const UNRESOLVED_MS = 10 * 60_000

interface Log {
  reader: LogReader
  /** Decisions and reversals, by their references. */
  waiting: Map<string, OfflineDecision | ReversedScan>
  uploads: Uploaded[]
  accepted: AcceptedOnline[]
  attempts: Attempted[]
  /** The references of attempts that are finished. */
  settled: Set<string>
}

/** Opens the records of a door in a folder; see `DoorStore`. */
export function openStore(folder: string): DoorStore {
  makePrivateFolder(folder)
  let own: OwnLog = createLog(folder)
  const logs = new Map<string, Log>()

  function refresh(): Log[] {
    const names = listLogs(folder)
    for (const name of names) {
      const log = logs.get(name) ?? emptyLog(folder, name)
      logs.set(name, log)
      for (const record of log.reader.read()) addTo(log, record)
    }
    // Another console removed the log because the list contains all of it.
    for (const name of logs.keys()) if (!names.includes(name)) logs.delete(name)
    return [...logs.values()]
  }

  return {
    append(...records) {
      own.append(records)
      own.sync()
    },
    note: (record) => own.append([record]),
    openAttempt(key, since) {
      const all = refresh()
      // The attempt of another console that runs is the scan of another guest.
      return [...logs]
        .filter(([name]) => name === own.name || !mayBeWritten(name))
        .flatMap(([, log]) => log.attempts)
        .filter((attempt) => attempt.key === key && attempt.at >= since)
        .findLast(({ externalRef }) => !all.some(({ settled }) => settled.has(externalRef)))
    },
    pending() {
      const all = refresh()
      const uploads = uploadsOf(all)
      return (
        all
          .flatMap((log) => [...log.waiting.values()])
          .filter(({ externalRef }) => !uploads.has(externalRef))
          .map((entry) => (entry.kind === 'reversed' ? withScanId(entry, uploads) : entry))
          // The references are ids that increase with time.
          .toSorted((a, b) => (a.externalRef < b.externalRef ? -1 : 1))
      )
    },
    acceptedScans(passId, listed, generatedAt) {
      const all = refresh()
      const uploads = uploadsOf(all)
      const waiting = all.flatMap((log) => [...log.waiting.values()])
      const recordedAt = ({ externalRef }: { externalRef: string }) => uploads.get(externalRef)?.recordedAt
      const decided = waiting.flatMap((entry) =>
        entry.kind === 'verdict' && entry.acceptedPassId === passId ? [ownScanOf(entry, recordedAt(entry))] : [],
      )
      const reversed = waiting.flatMap((entry) =>
        entry.kind === 'reversed' && entry.passId === passId ? [{ ...entry, recordedAt: recordedAt(entry) }] : [],
      )
      const online = all.flatMap((log) => log.accepted.filter((scan) => scan.passId === passId))
      return acceptedScans({ listed, generatedAt }, { own: [...online, ...decided], reversed })
    },
    prune(generatedAt) {
      const all = refresh()
      const uploads = uploadsOf(all)
      const openSince = Date.parse(generatedAt) - UNRESOLVED_MS
      const isSettled = (log: Log) =>
        [...log.waiting.keys()].every(
          (ref) => uploads.has(ref) && isListed(uploads.get(ref)!.recordedAt, generatedAt),
        ) &&
        log.accepted.every((scan) => isListed(scan.recordedAt, generatedAt)) &&
        log.attempts.every(
          ({ at, externalRef }) => at < openSince || all.some(({ settled }) => settled.has(externalRef)),
        )
      const open = all.filter((log) => !isSettled(log))
      // Keep records as long as the decisions and attempts that they refer to.
      const isNeeded = ({ uploads: marks, settled }: Log) =>
        open.some(
          (log) =>
            marks.some(({ externalRef }) => log.waiting.has(externalRef)) ||
            log.attempts.some(({ externalRef }) => settled.has(externalRef)),
        )
      const removable = [...logs].filter(([, log]) => isSettled(log) && !isNeeded(log)).map(([name]) => name)
      if (removable.includes(own.name) && !isEmpty(logs.get(own.name)!)) {
        own.close()
        removeLog(folder, own.name)
        logs.delete(own.name)
        own = createLog(folder)
      }
      for (const name of removable) if (name !== own.name && !mayBeWritten(name)) removeLog(folder, name)
    },
    close() {
      refresh()
      own.close()
      if (isEmpty(logs.get(own.name)!)) removeLog(folder, own.name)
    },
  }
}

function emptyLog(folder: string, name: string): Log {
  const reader = readLog(folder, name)
  return { reader, waiting: new Map(), uploads: [], accepted: [], attempts: [], settled: new Set() }
}

function addTo(log: Log, record: LogRecord): void {
  if (record.kind === 'verdict' || record.kind === 'reversed') log.waiting.set(record.externalRef, record)
  if (record.kind === 'uploaded') log.uploads.push(record)
  if (record.kind === 'accepted') log.accepted.push(record)
  if (record.kind === 'attempt') log.attempts.push(record)
  else if (record.externalRef !== undefined) log.settled.add(record.externalRef)
}

/** Returns the uploads of all logs: a console can upload the decisions of another. */
function uploadsOf(logs: readonly Log[]): Map<string, Uploaded> {
  return new Map(logs.flatMap((log) => log.uploads.map((upload) => [upload.externalRef, upload])))
}

/** Returns a reversal with the id of its scan, if the server has that scan by now. */
function withScanId(entry: ReversedScan, uploads: ReadonlyMap<string, Uploaded>): ReversedScan {
  const { externalRef, scanId } = entry.undoes
  return { ...entry, undoes: { externalRef, scanId: scanId ?? uploads.get(externalRef)?.scanId ?? null } }
}

/** Whether a log holds nothing that another console needs: only attempts that it finished itself. */
function isEmpty({ waiting, uploads, accepted, attempts, settled }: Log): boolean {
  const made = new Set(attempts.map(({ externalRef }) => externalRef))
  const isFinished = made.size === settled.size && [...made].every((ref) => settled.has(ref))
  return waiting.size + uploads.length + accepted.length === 0 && isFinished
}
