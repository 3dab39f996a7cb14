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
}

/** A zone in a response of the server. The zone of a scan has fewer properties. */
export type ServerZone = Pick<Zone, 'id' | 'name' | 'inside' | 'capacity'> & Partial<Pick<Zone, 'whenFull' | 'resetAt'>>

/** See `learnZones` in `zone-rows.ts`. */
export interface LearnOptions {
  at: string
  areAll?: boolean
  seen?: readonly KnownZone[]
}

/** The ID of a list and its time. */
export interface ListHead {
  id: string
  generatedAt: string
}

/** A scan that this phone knows in addition to the list, with the data to upload. */
export interface JournalEntry extends OwnScan {
  externalRef: string
  projectId: string
  /** The pass whose uses the entry changes, if any. */
  passId?: string | undefined
  /** Whether the entry admitted the pass, reversed a scan, did neither, or counted people without a scan. */
  kind: 'accepted' | 'reversed' | 'denied' | 'counted'
  /** The project to which the entry must be uploaded; omitted once it is uploaded. */
  waits?: string | undefined
  /** Only for an offline decision. */
  decision?: OfflineDecision | undefined
  /** Only for a reversal: the reversed scan, by its externalRef and, once known, its ID. */
  undoes?: { externalRef: string; scanId: string | null } | undefined
  /** Only for a count without a scan. */
  adjustment?: { zoneId: string; delta: number; reason: string } | undefined
  /** The reason that the server permanently rejected the entry. Kept until the operator dismisses the problem. */
  rejection?: string | undefined
  /** Set for a rejected count out that is sent again, because more people left than the server has counted in. */
  isHeld?: true | undefined
  /** Only for a rejected reversal: the reversed scan belongs to another door. */
  isOfAnother?: boolean | undefined
}

/** An attempt whose result is not known. */
export interface Attempted {
  /** The scanned content: two attempts with the same key are attempts at the same scan. */
  key: string
  externalRef: string
  /** The time, in milliseconds. */
  at: number
  /** The tab or process that makes the attempt: see `EngineEnvironment.runner`. */
  runner: string
}

/** A count out that is sent again: see `JournalEntry.isHeld`. */
export type HeldCount = JournalEntry & { adjustment: NonNullable<JournalEntry['adjustment']> }

/** The server's result for an uploaded entry. */
export interface UploadResult {
  externalRef: string
  /** `null` if the server permanently rejected the entry. */
  recordedAt: string | null
  scanId?: string | undefined
  conflict?: LedgerReason | null | undefined
  rejection?: string | undefined
  /** For a rejected count out: the count is sent again later. */
  isHeld?: true | undefined
  /** For a rejected reversal: the reversed scan belongs to another door, such as the previous door of this phone. */
  isOfAnother?: boolean | undefined
}

/** A pass with its names and status. */
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
  /** Held counts, oldest first. */
  held: readonly HeldCount[]
  rejections: Pick<JournalEntry, 'rejection' | 'isOfAnother' | 'scannedAt'>[]
}

/** The digests of a scanned code, in hex. */
export interface ScannedCode {
  /** The digest of the payload. */
  digest: string
  /** The messages that a scanner can read as the payload, in order, each for passes with barcodes of its format. */
  others: readonly { format: BarcodeFormat; digest: string }[]
}

/**
 * The persistent storage of a door. Each method is one atomic transaction, which is on disk when it resolves. Write
 * transactions run one at a time, across the tabs of a phone and the consoles of a folder.
 */
export interface EngineStore {
  identity(): Promise<Identity | undefined>
  setIdentity(identity: Identity): Promise<void>
  /** The error of the phone's clock at the last response of the server; `undefined` if there was none. */
  clockOffset(): Promise<number | undefined>
  setClockOffset(offsetMs: number): Promise<void>
  summary(): Promise<StoreSummary>

  /**
   * Stores an attempt before the server is called, so that an attempt interrupted by a crash is retried with its
   * reference.
   * @param canResume whether an attempt with the same key that has had no result since `notBefore` is to be retried
   * @returns the externalRef to use
   */
  beginAttempt(
    attempt: Attempted,
    options: { notBefore: number; canResume: (attempt: Attempted) => boolean },
  ): Promise<string>
  /** Stores the server's decision, and that the attempt has ended. */
  settle(decision: Decision, entry: JournalEntry | null): Promise<void>
  /** Evaluates an attempt against the list and stores the decision. Returns `undefined` if there is no list. */
  evaluate(
    attempt: Attempt,
    code: ScannedCode | null,
    decide: (facts: OwnFacts) => { decision: Decision; entry: JournalEntry },
  ): Promise<Decision | undefined>
  /** Reads the facts of the list and this phone about one pass. */
  look<T>(passId: string, read: (facts: OwnFacts) => T): Promise<T | undefined>
  /**
   * Stores a reversal and marks its scan as reversed. If the scan is still to be uploaded to another project, the
   * reversal waits with it.
   */
  undo(decision: Decision, entry: JournalEntry): Promise<void>
  decision(externalRef: string): Promise<Decision | undefined>

  /** Stores zones of the server, as `learnZones` in `zone-rows.ts` describes. */
  learnZones(zones: readonly ServerZone[], options: LearnOptions): Promise<void>
  /** Stores a count without a scan. */
  adjust(entry: JournalEntry): Promise<void>
  /** Stores the correction of a count without a scan, once, unless the server permanently rejected the count. */
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
   * Removes the token, the list, and all guest data except pending entries. Does nothing if this phone has become
   * another door than the door of the token.
   */
  wipe(token: string | undefined): Promise<void>
  close(): Promise<void>
}

/** The facts of a list and the journal about an attempt. */
export interface OwnFacts
  extends Pick<OfflineFacts, 'snapshotId' | 'matches' | 'members' | 'acceptedScansOf' | 'unsentUsesOf'> {
  /** Returns the facts about a listed pass for a movement. */
  presenceIn(movement: DoorMovement, at: Date): (item: SnapshotItem) => PresenceFacts
  zones: readonly KnownZone[]
}

/** Storage is full: the disk, or the quota of this page. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError'
}

/** The number of shown recent decisions. Conflicts are kept in addition. */
export const RECENT_DECISIONS = 50
/** The number of conflicts that are kept to be shown. The ledger has all of them. */
export const KEPT_CONFLICTS = 200

/** A shown decision, stored for the list of recent scans and for conflicts. */
export interface StoredDecision {
  seq?: number
  externalRef: string
  decision: Decision
  /** The movement of an accepted scan. A new list replaces the journal entry of the scan, but keeps this property. */
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
  /** `slot` is the table of items that has the list. */
  list: ListHead & { size: number; slot: Slot }
  /** The counts since this phone became a door. */
  counts: Counts
  zones: readonly KnownZone[]
}

export type Slot = 'items-a' | 'items-b'

/** The rows of a door's tables (decisions/0009). */
export interface Rows {
  meta: { name: keyof Meta; value: Meta[keyof Meta] }
  /** One table of items has the list in use, the other one the list that is being loaded. */
  'items-a': SnapshotItem
  'items-b': SnapshotItem
  /** Decisions and reversals, in order, until the server has them. */
  journal: JournalEntry & { seq?: number }
  decisions: StoredDecision
  attempts: Attempted
}

export type Table = keyof Rows
export type Key = string | number

const items = { key: 'passId', indexes: ['identifiers', 'staleIdentifiers', 'groupId'] }

/** The properties of the key and the indexes of each table. The index of an array has an entry for each element. */
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
  /** Returns the rows with a value in an index, or with any value. */
  find<T extends Table>(table: T, index: string, value?: Key, limit?: number): Promise<Rows[T][]>
  list<T extends Table>(table: T, options?: { after?: Key | undefined; limit?: number }): Promise<Rows[T][]>
  newest<T extends Table>(table: T, limit: number): Promise<Rows[T][]>
  count(table: Table): Promise<number>
  /** Counts the rows by their value in an index. */
  countBy(table: Table, index: string): Promise<Map<string, number>>
  /** Inserts rows, or replaces those with the same key. */
  put<T extends Table>(table: T, rows: readonly Rows[T][]): Promise<void>
  remove(table: Table, keys: readonly Key[]): Promise<void>
  clear(table: Table): Promise<void>
}

/** A database with the tables of a door: IndexedDB in a browser, SQLite in a console. */
export interface TableDatabase {
  /** Reads these tables at one point in time. The work awaits nothing but the transaction. */
  read<T>(tables: readonly Table[], work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Changes these tables in one transaction, which is on disk when it resolves. A relaxed transaction survives the end
   * of the process, but perhaps not a power failure. Transactions run one at a time, also those of other tabs and
   * processes.
   * @throws StorageFullError
   */
  write<T>(
    tables: readonly Table[],
    work: (tx: Transaction) => Promise<T>,
    options?: { isRelaxed: boolean },
  ): Promise<T>
  close(): Promise<void>
}
