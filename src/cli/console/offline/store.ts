import { acceptedScans, isListed, type ListedScan, ownScanOf } from '../../../core/rules/door/own-scans.ts'
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

/**
 * The persistent state of one door on this machine: decisions that are not uploaded yet, and scans that the stored
 * list does not contain. It is shared: a console also uploads decisions of other consoles.
 */
export interface DoorStore {
  /** Flushes the records to disk before it returns. */
  append(...records: LogRecord[]): void
  /** Returns decisions that are not uploaded yet, oldest first, from all consoles. */
  pending(): OfflineDecision[]
  /** Returns accepted scans of a pass, oldest first: those of the list generated at that time, and later ones. */
  acceptedScans(passId: string, listed: readonly ListedScan[], generatedAt: string): AcceptedScan[]
  /** Removes records that a list generated at that time contains and that the server has. */
  prune(generatedAt: string): void
  close(): void
}

interface Log {
  reader: LogReader
  decisions: Map<string, OfflineDecision>
  uploads: UploadedDecision[]
  accepted: AcceptedOnline[]
  reversed: ReversedScan[]
}

/** Opens the state of a door in a folder; see `DoorStore`. */
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
    // Another console removed the log because the list contains all of it.
    for (const name of logs.keys()) if (!names.includes(name)) logs.delete(name)
  }

  function pending(): OfflineDecision[] {
    refresh()
    const uploads = uploadsOf(logs)
    return (
      [...logs.values()]
        .flatMap((log) => [...log.decisions.values()])
        .filter((offlineDecision) => !uploads.has(offlineDecision.externalRef))
        // The references are ids that increase with time.
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
      const all = [...logs.values()]
      const ofPass = (scan: { passId: string }) => scan.passId === passId
      const decided = all
        .flatMap((log) => [...log.decisions.values()])
        .filter(({ acceptedPassId }) => acceptedPassId === passId)
        .map((decision) => ownScanOf(decision, uploads.get(decision.externalRef)?.recordedAt))
      const own = [...all.flatMap((log) => log.accepted.filter(ofPass)), ...decided]
      const reversed = all.flatMap((log) => log.reversed.filter(ofPass))
      return acceptedScans({ listed, generatedAt }, { own, reversed })
    },
    prune(generatedAt) {
      refresh()
      const uploads = uploadsOf(logs)
      const isSettled = (log: Log) =>
        [...log.decisions.keys()].every(
          (ref) => uploads.has(ref) && isListed(uploads.get(ref)!.recordedAt, generatedAt),
        ) && [...log.accepted, ...log.reversed].every((scan) => isListed(scan.recordedAt, generatedAt))
      const open = [...logs.values()].filter((log) => !isSettled(log))
      // Keep upload records as long as the decisions that they refer to.
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

/** Returns the uploads of all logs: a console can upload the decisions of another. */
function uploadsOf(logs: ReadonlyMap<string, Log>): Map<string, UploadedDecision> {
  return new Map([...logs.values()].flatMap((log) => log.uploads.map((upload) => [upload.externalRef, upload])))
}

function isEmpty(log: Log): boolean {
  return log.decisions.size + log.uploads.length + log.accepted.length + log.reversed.length === 0
}
