import type { BarcodeFormat } from '../../../core/barcode-formats.ts'
import type { SnapshotItem } from '../../../core/contract/scanner.ts'
import type { LedgerReason } from '../../../core/contract/schemas/scan-shapes.ts'
import type { Zone } from '../../../core/contract/zones.ts'
import type { OfflineFacts } from '../../../core/rules/door/evaluate-offline.ts'
import type { Attempt, Candidate } from '../../../core/rules/door/outcome.ts'
import type { OfflineDecision, OwnMovement, OwnScan } from '../../../core/rules/door/own-scans.ts'
import type { PresenceFacts } from '../../../core/rules/zones/presence.ts'
import type { Counts, Decision, DoorMovement, DoorProperties, KnownZone } from '../engine.ts'

/** The identity of a door. The project of a console that scans all projects is ''. */
export interface Identity {
  token: string
  door: DoorProperties
  /** Whether the server does not have the zone and direction yet. */
  isMovementUnsent?: boolean | undefined
  /** The ID of this exit's deleted zone. The door scans nothing until another zone, or none, is chosen. */
  deletedExit?: string | undefined
}

/** A zone in a response of the server. The zone of a scan has fewer properties. */
export type ServerZone = Pick<Zone, 'id' | 'name' | 'inside' | 'capacity'> & Partial<Pick<Zone, 'whenFull' | 'resetAt'>>

/** See `learnZones` in `zone-rows.ts`. */
export interface LearnOptions {
  at: string
  areAll?: boolean
  seen?: readonly KnownZone[]
}

/** The ID and the time of a stored list of passes, which is a snapshot of the API. */
export interface ListHead {
  id: string
  generatedAt: string
}

/** A scan or a count of this phone that the stored list of passes may lack, with the data to upload. */
export interface JournalEntry extends OwnScan {
  externalRef: string
  projectId: string
  /** The pass whose uses the entry changes, if any. */
  passId?: string | undefined
  /** Whether the entry accepted or denied a scan, reversed one, or counted people without a scan. */
  kind: 'accepted' | 'reversed' | 'denied' | 'counted'
  /** The project to which the entry must be uploaded; omitted once it is uploaded. */
  waits?: string | undefined
  /** Only for an offline decision: the decision to upload. */
  decision?: OfflineDecision | undefined
  /** Only for a reversal: the reversed scan, by its externalRef and, once known, its ID. */
  undoes?: { externalRef: string; scanId: string | null } | undefined
  /** Only for a count without a scan: the change of the number of people inside. */
  adjustment?: { zoneId: string; delta: number; reason: string } | undefined
  /** The server's reason for rejecting the entry. Unless `isHeld`, kept until the operator dismisses the problem. */
  rejection?: string | undefined
  /** Set while an exit counted without a scan is retried: the server rejected it, as too few people are inside. */
  isHeld?: true | undefined
  /** Only for a rejected reversal: the reversed scan belongs to another door. */
  isOfAnother?: boolean | undefined
}

/** An attempt whose result is not known. */
export interface Attempted {
  /** The scanned content: two attempts with the same key are attempts at the same scan. */
  key: string
  externalRef: string
  /** The time of the attempt, in milliseconds. */
  at: number
  /** The tab or process that makes the attempt: see `EngineEnvironment.runner`. */
  runner: string
}

/** An exit counted without a scan, while it is retried: see `JournalEntry.isHeld`. */
export type HeldCount = JournalEntry & { adjustment: NonNullable<JournalEntry['adjustment']> }

/** The server's result for an uploaded entry. */
export interface UploadResult {
  externalRef: string
  /** The time at which the server recorded the entry; `null` if it rejected the entry. */
  recordedAt: string | null
  scanId?: string | undefined
  conflict?: LedgerReason | null | undefined
  rejection?: string | undefined
  /** For a rejected exit that was counted without a scan: see `JournalEntry.isHeld`. */
  isHeld?: true | undefined
  /** For a rejected reversal: the reversed scan belongs to another door, such as the previous door of this phone. */
  isOfAnother?: boolean | undefined
}

/** A pass of the stored list with its names and status. */
export type NamedItem = Omit<Candidate, 'standing'> & Pick<SnapshotItem, 'status'>

export interface StoreSummary {
  list: (ListHead & { size: number }) | null
  /** The number of pending entries, by project, including held counts. */
  waiting: ReadonlyMap<string, number>
  /** The latest decisions, newest first. */
  recent: Decision[]
  conflicts: Decision[]
  counts: Counts
  zones: readonly KnownZone[]
  /** Held counts (see `HeldCount`), oldest first. */
  held: readonly HeldCount[]
  rejections: Pick<JournalEntry, 'rejection' | 'isOfAnother' | 'scannedAt'>[]
}

/** The digests of a scanned code, in hex. */
export interface ScannedCode {
  /** The digest of the payload. */
  digest: string
  /** The digests of other messages that the payload can stand for, in order, each only for barcodes of its format. */
  others: readonly { format: BarcodeFormat; digest: string }[]
}

/**
 * The persistent storage of a door. Each method is one atomic transaction, which is on disk when it resolves. Write
 * transactions run one at a time, across the tabs of a phone and the consoles of a folder.
 */
export interface EngineStore {
  identity(): Promise<Identity | undefined>
  setIdentity(identity: Identity): Promise<void>
  /** The last stored value of `DoorClock.offsetMs`, in milliseconds; `undefined` if there is none. */
  clockOffset(): Promise<number | undefined>
  setClockOffset(offsetMs: number): Promise<void>
  summary(): Promise<StoreSummary>

  /**
   * Stores an attempt before the server is called, so that an attempt interrupted by a crash is retried with its
   * reference.
   * @param canResume whether to retry an attempt that was made since `notBefore` with the same key, and has no result
   * @returns the externalRef to use
   */
  beginAttempt(
    attempt: Attempted,
    options: { notBefore: number; canResume: (attempt: Attempted) => boolean },
  ): Promise<string>
  /** Stores the server's decision, and that the attempt has ended. */
  settle(decision: Decision, entry: JournalEntry | null): Promise<void>
  /** Evaluates an attempt against the stored list and stores the decision. Returns `undefined` if there is no list. */
  evaluate(
    attempt: Attempt,
    code: ScannedCode | null,
    decide: (facts: OwnFacts) => { decision: Decision; entry: JournalEntry },
  ): Promise<Decision | undefined>
  /** Reads the facts of the stored list and the journal about one pass; `undefined` if the list lacks the pass. */
  look<T>(passId: string, read: (facts: OwnFacts) => T): Promise<T | undefined>
  /**
   * Stores a reversal and marks its scan as reversed. If the scan is still pending, the reversal is uploaded to the
   * project of the scan.
   */
  undo(decision: Decision, entry: JournalEntry): Promise<void>
  decision(externalRef: string): Promise<Decision | undefined>

  /** Stores zones of the server, as `learnZones` in `zone-rows.ts` describes. */
  learnZones(zones: readonly ServerZone[], options: LearnOptions): Promise<void>
  /** Stores a count without a scan. */
  adjust(entry: JournalEntry): Promise<void>
  /** Stores the reversal of a count without a scan, once, unless the server permanently rejected the count. */
  undoAdjustment(entry: JournalEntry, undone: string): Promise<void>

  /** Returns the oldest pending entries of a project, without held counts. */
  waiting(projectId: string, limit: number): Promise<JournalEntry[]>
  settleUploads(results: readonly UploadResult[]): Promise<void>
  dismissRejections(): Promise<void>

  /** Starts a new list, while the one in use is kept. */
  beginList(): Promise<void>
  addToList(items: readonly SnapshotItem[]): Promise<void>
  /** Replaces the list in use by the new list, and deletes the journal entries that the new list contains. */
  finishList(head: ListHead): Promise<void>
  /** Changes the list in use. If a head is given, it becomes the head of the changed list. */
  amendList(changed: readonly SnapshotItem[], removed: readonly string[], head: ListHead | null): Promise<void>
  names(): Promise<readonly NamedItem[]>
  dropList(): Promise<void>
  /**
   * Removes the token, the stored list, and all guest data except pending and rejected entries. Does nothing if this
   * phone has become another door since it had this token.
   */
  wipe(token: string | undefined): Promise<void>
  close(): Promise<void>
}

/** The facts of a list and the journal about an attempt. */
export interface OwnFacts
  extends Pick<OfflineFacts, 'snapshotId' | 'matches' | 'members' | 'acceptedScansOf' | 'unsentUsesOf'> {
  /** Returns a function that, for a pass of the list, returns the presence facts of a scan with this movement. */
  presenceIn(movement: DoorMovement, at: Date): (item: SnapshotItem) => PresenceFacts
  zones: readonly KnownZone[]
}

/** Storage is full: the disk, or the quota of this page. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError'
}

/** The maximum number of recent decisions that are shown. Conflicts are kept in addition. */
export const RECENT_DECISIONS = 50
/** The maximum number of conflicts that are kept to be shown. The ledger has all conflicts. */
export const KEPT_CONFLICTS = 200

/** A shown decision, stored for the list of recent scans and for conflicts. */
export interface StoredDecision {
  seq?: number
  externalRef: string
  decision: Decision
  /** The movement of an accepted scan, for a reversal after the journal entry of the scan was deleted. */
  movement?: OwnMovement | undefined
  /** Set if the server decided differently from this phone. */
  conflict?: 1
  /** Set if the previous door of this phone made the decision. */
  before?: 1
}

/** Single values, each in a row of the table `meta`. */
export interface Meta {
  identity: Identity
  /** The milliseconds to add to the phone's clock to get the server's time. */
  clockOffset: number
  /** `slot` is the table that contains the passes of the list. */
  list: ListHead & { size: number; slot: Slot }
  /** The counts since this phone became a door. */
  counts: Counts
  zones: readonly KnownZone[]
}

export type Slot = 'items-a' | 'items-b'

/** The rows of a door's tables (decisions/0009). */
export interface Rows {
  meta: { name: keyof Meta; value: Meta[keyof Meta] }
  /** One of these two tables contains the list in use, the other one the list that is being loaded. */
  'items-a': SnapshotItem
  'items-b': SnapshotItem
  /** Decisions, reversals, and counts, in order, until the stored list contains them. */
  journal: JournalEntry & { seq?: number }
  decisions: StoredDecision
  attempts: Attempted
}

export type Table = keyof Rows
export type Key = string | number

const items = { key: 'passId', indexes: ['identifiers', 'staleIdentifiers', 'groupId'] }

/** The key property and the indexed properties of each table. An index of an array has an entry for each element. */
export const tables: Record<Table, { key: string; indexes: readonly string[] }> = {
  meta: { key: 'name', indexes: [] },
  'items-a': items,
  'items-b': items,
  // The database assigns `seq`, in ascending order.
  journal: { key: 'seq', indexes: ['externalRef', 'passId', 'waits', 'rejection'] },
  decisions: { key: 'seq', indexes: ['externalRef', 'conflict'] },
  attempts: { key: 'externalRef', indexes: [] },
}

/** The operations of one transaction. Rows are in the order of their keys. */
export interface Transaction {
  get<T extends Table>(table: T, key: Key): Promise<Rows[T] | undefined>
  /** Returns the rows that have the value in an index; by default, the rows that have any value. */
  find<T extends Table>(table: T, index: string, value?: Key, limit?: number): Promise<Rows[T][]>
  list<T extends Table>(table: T, options?: { after?: Key | undefined; limit?: number }): Promise<Rows[T][]>
  newest<T extends Table>(table: T, limit: number): Promise<Rows[T][]>
  count(table: Table): Promise<number>
  /** Counts the rows by their value in an index. */
  countBy(table: Table, index: string): Promise<Map<string, number>>
  /** Inserts rows, or replaces the rows with the same keys. */
  put<T extends Table>(table: T, rows: readonly Rows[T][]): Promise<void>
  remove(table: Table, keys: readonly Key[]): Promise<void>
  clear(table: Table): Promise<void>
}

/** A database with the tables of a door: IndexedDB in a browser, SQLite in a console. */
export interface TableDatabase {
  /** Runs work that reads these tables as of one point in time. The work must await only the transaction. */
  read<T>(tables: readonly Table[], work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs work that changes these tables in one transaction, which is on disk when the promise resolves. A relaxed
   * transaction survives the end of the process, but perhaps not a power failure. Transactions run one at a time,
   * including those of other tabs and processes.
   * @throws StorageFullError
   */
  write<T>(
    tables: readonly Table[],
    work: (tx: Transaction) => Promise<T>,
    options?: { isRelaxed: boolean },
  ): Promise<T>
  close(): Promise<void>
}
