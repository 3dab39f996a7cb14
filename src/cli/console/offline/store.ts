import type { AcceptedScan } from '../../../core/rules/redemption/redemption-plan.ts'
import { makePrivateFolder } from '../../../files/private-file.ts'
import {
  type AcceptedOnline,
  createLog,
  type LogReader,
  type LogRecord,
  listLogs,
  mayBeWritten,
  type OfflineDecision,
  type OwnLog,
  type ReversedScan,
  readLog,
  removeLog,
  type UploadedDecision,
} from './log-files.ts'

interface ListedScan {
  scannedAt: string
  scanContextKey: string | null
  validityDate?: string | undefined
}

/**
 * What the consoles of one door on this machine must not forget: decisions that the server has not got yet, and scans
 * that the stored list does not know of. It outlives them; a console uploads whatever waits, its own or not.
 */
export interface DoorStore {
  /** On the disk when it returns. */
  append(...records: LogRecord[]): void
  /** Decisions that wait for the server, oldest first, whichever console made them. */
  pending(): OfflineDecision[]
  /** Accepted scans of a pass, oldest first: those of the list of that moment, with what happened since. */
  acceptedScans(passId: string, listed: readonly ListedScan[], generatedAt: string): AcceptedScan[]
  /** Lets go of what a list of that moment holds and the server has. */
  prune(generatedAt: string): void
  close(): void
}

/** The list is read page by page while scans go on; what the server recorded just before may be missing in it. */
const OVERLAP_MS = 5_000

interface Log {
  reader: LogReader
  decisions: Map<string, OfflineDecision>
  uploads: UploadedDecision[]
  accepted: AcceptedOnline[]
  reversed: ReversedScan[]
}

/** Opens what the consoles of a door keep in a folder: see DoorStore. */
export function openStore(folder: string): DoorStore {
  makePrivateFolder(folder)
  let own: OwnLog = createLog(folder)
  const logs = new Map<string, Log>()

  function refresh(): void {
    const names = listLogs(folder)
    for (const name of names) {
      const log = logs.get(name) ?? emptyLog(folder, name)
      logs.set(name, log)
      for (const record of log.reader.read()) addTo(log, record)
    }
    // Removed by another console: the list holds it all.
    for (const name of logs.keys()) if (!names.includes(name)) logs.delete(name)
  }

  function pending(): OfflineDecision[] {
    refresh()
    const uploads = uploadsOf(logs)
    return (
      [...logs.values()]
        .flatMap((log) => [...log.decisions.values()])
        .filter((offlineDecision) => !uploads.has(offlineDecision.externalRef))
        // The references are ids that ascend with time.
        .toSorted((a, b) => (a.externalRef < b.externalRef ? -1 : 1))
    )
  }

  return {
    append(...records) {
      own.append(records)
    },
    pending,
    acceptedScans(passId, listed, generatedAt) {
      refresh()
      const uploads = uploadsOf(logs)
      const isNew = (recordedAt: string | null) => !isListed(recordedAt, generatedAt)
      const since: ListedScan[] = []
      const reversed: ReversedScan[] = []
      for (const log of logs.values()) {
        since.push(...log.accepted.filter((scan) => scan.passId === passId && isNew(scan.recordedAt)))
        for (const offlineDecision of log.decisions.values()) {
          if (offlineDecision.acceptedPassId !== passId) continue
          const upload = uploads.get(offlineDecision.externalRef)
          if (upload && !isNew(upload.recordedAt)) continue
          const { operationalAt, scannedAt, scanContextKey = null, validityDate } = offlineDecision
          since.push({ scannedAt: operationalAt ?? scannedAt, scanContextKey, validityDate })
        }
        reversed.push(...log.reversed.filter((scan) => scan.passId === passId && isNew(scan.recordedAt)))
      }
      return withoutReversed(merged(listed, since), reversed)
        .toSorted((a, b) => momentOf(a) - momentOf(b))
        .map(({ scannedAt, scanContextKey, validityDate = null }) => {
          return { scannedAt: new Date(scannedAt), scanContextKey, validityDate }
        })
    },
    prune(generatedAt) {
      refresh()
      const uploads = uploadsOf(logs)
      const isSettled = (log: Log) =>
        [...log.decisions.keys()].every(
          (ref) => uploads.has(ref) && isListed(uploads.get(ref)!.recordedAt, generatedAt),
        ) && [...log.accepted, ...log.reversed].every((scan) => isListed(scan.recordedAt, generatedAt))
      const open = [...logs.values()].filter((log) => !isSettled(log))
      // What says that the decisions of an open log are uploaded stays as long as they do.
      const isNeeded = ({ uploads: marks }: Log) =>
        marks.some(({ externalRef }) => open.some((log) => log.decisions.has(externalRef)))
      const settled = [...logs].filter(([, log]) => isSettled(log) && !isNeeded(log)).map(([name]) => name)
      if (settled.includes(own.name) && !isEmpty(logs.get(own.name)!)) {
        own.close()
        removeLog(folder, own.name)
        logs.delete(own.name)
        own = createLog(folder)
      }
      for (const name of settled) if (name !== own.name && !mayBeWritten(name)) removeLog(folder, name)
    },
    close() {
      refresh()
      own.close()
      if (isEmpty(logs.get(own.name)!)) removeLog(folder, own.name)
    },
  }
}

function emptyLog(folder: string, name: string): Log {
  return { reader: readLog(folder, name), decisions: new Map(), uploads: [], accepted: [], reversed: [] }
}

function addTo(log: Log, record: LogRecord): void {
  if (record.kind === 'verdict') log.decisions.set(record.externalRef, record)
  else if (record.kind === 'uploaded') log.uploads.push(record)
  else if (record.kind === 'accepted') log.accepted.push(record)
  else log.reversed.push(record)
}

/** A console may have uploaded what another one left. */
function uploadsOf(logs: ReadonlyMap<string, Log>): Map<string, UploadedDecision> {
  return new Map([...logs.values()].flatMap((log) => log.uploads.map((upload) => [upload.externalRef, upload])))
}

function isEmpty(log: Log): boolean {
  return log.decisions.size + log.uploads.length + log.accepted.length + log.reversed.length === 0
}

/** What the server refused for good stands in no list, and never will. */
function isListed(recordedAt: string | null, generatedAt: string): boolean {
  return recordedAt === null || Date.parse(recordedAt) < Date.parse(generatedAt) - OVERLAP_MS
}

/**
 * The scans of the list with those since: a moment that both know of is the same scan, as often as both know of it. As of
 * a date many scans stand for one moment.
 */
function merged(listed: readonly ListedScan[], since: readonly ListedScan[]): ListedScan[] {
  const both = new Map<number, number>()
  for (const scan of listed) both.set(momentOf(scan), (both.get(momentOf(scan)) ?? 0) + 1)
  const unknown = since.filter((scan) => {
    const count = both.get(momentOf(scan)) ?? 0
    both.set(momentOf(scan), count - 1)
    return count <= 0
  })
  return [...listed, ...unknown]
}

/** Each reversal takes one scan of its moment. */
function withoutReversed(scans: readonly ListedScan[], reversed: readonly ReversedScan[]): ListedScan[] {
  const taken = new Map<number, number>()
  for (const scan of reversed) taken.set(momentOf(scan), (taken.get(momentOf(scan)) ?? 0) + 1)
  return scans.filter((scan) => {
    const count = taken.get(momentOf(scan)) ?? 0
    taken.set(momentOf(scan), count - 1)
    return count <= 0
  })
}

/** What tells an accepted scan of one pass from another. */
function momentOf({ scannedAt }: { scannedAt: string }): number {
  return Date.parse(scannedAt)
}
