import type { BarcodeFormat } from '../../../core/barcode-formats.ts'
import type { SnapshotItem } from '../../../core/contract/scans/scanner.ts'
import type { Zone } from '../../../core/contract/scans/zones.ts'
import type { LedgerReason } from '../../../core/contract/schemas/scan-shapes.ts'
import type { OfflineFacts } from '../../../core/rules/door/evaluate-offline.ts'
import type { Candidate } from '../../../core/rules/door/outcome.ts'
import type { OfflineDecision, OwnMovement, OwnScan } from '../../../core/rules/door/own-scans.ts'
import type { PresenceFacts } from '../../../core/rules/zones/presence.ts'
import type { Counts, Decision, DoorMovement, DoorProperties, KnownZone } from '../engine.ts'

/** The token and the properties of a door. The project of a console that scans all projects is ''. */
export interface Identity {
  token: string
  door: DoorProperties
  isMovementUnsent?: boolean | undefined
  /**
   * The ID of this exit's zone, if it was deleted. The door does not scan until a user chooses another zone, or to scan
   * without a zone.
   */
  deletedExit?: string | undefined
  /** The name of this door's last zone, if it was deleted, until a user dismisses the notice or chooses a zone. */
  deletedZone?: string | undefined
}

/** A zone in a response of the server. The response to a scan omits `whenFull` and `resetAt`. */
export type ServerZone = Pick<Zone, 'id' | 'name' | 'inside' | 'capacity'> & Partial<Pick<Zone, 'whenFull' | 'resetAt'>>

/** The snapshot ID and the generation time of the stored list of passes. */
export interface ListHead {
  id: string
  generatedAt: string
}

/** A scan or count of this phone, with its data for the upload. Kept until the stored list of passes contains it. */
export interface JournalEntry extends OwnScan {
  externalRef: string
  projectId: string
  /** The pass whose uses the entry changes, if any. */
  passId?: string | undefined
  /** The type of the entry: an accepted scan, a denied scan, a reversal, or people counted without a scan. */
  kind: 'accepted' | 'reversed' | 'denied' | 'counted'
  /** The project to which the entry must be uploaded; omitted after the upload. */
  waits?: string | undefined
  decision?: OfflineDecision | undefined
  /** The scan that a reversal reverses. `scanId` is `null` until the server has recorded the scan. */
  undoes?: { externalRef: string; scanId: string | null } | undefined
  /** The change of the number of people inside, for a count without a scan. */
  adjustment?: { zoneId: string; delta: number; reason: string } | undefined
  /** The server's reason for rejecting the entry, kept until a user dismisses it; `held` if `isHeld` is set. */
  rejection?: string | undefined
  /** Set if the server rejected this counted exit because too few people were inside. The phone sends it again. */
  isHeld?: true | undefined
  /** Whether the server rejected a reversal because the scan belongs to another door. */
  isOfAnother?: boolean | undefined
}

/** An attempt whose result is not known. */
export interface Attempted {
  /**
   * The payload or the pass, the options, and the movement of the scan, as JSON. Attempts with the same key are retries
   * of one scan.
   */
  key: string
  externalRef: string
  /** The time of the attempt, in milliseconds. */
  at: number
  /** The ID of the tab or process that makes the attempt (`EngineEnvironment.runner`). */
  runner: string
}

/** A rejected exit without a scan, which the phone retries (see `JournalEntry.isHeld`). */
export type HeldCount = JournalEntry & { adjustment: NonNullable<JournalEntry['adjustment']> }

export interface UploadResult {
  externalRef: string
  /** The time at which the server recorded the entry; `null` if it rejected the entry. */
  recordedAt: string | null
  scanId?: string | undefined
  conflict?: LedgerReason | null | undefined
  rejection?: string | undefined
  /** See `JournalEntry.isHeld`. */
  isHeld?: true | undefined
  /** Whether the server rejected a reversal because the scan belongs to another door. */
  isOfAnother?: boolean | undefined
}

/** A pass of the stored list, for the search by name. */
export type NamedItem = Omit<Candidate, 'standing'> & Pick<SnapshotItem, 'status'>

export interface StoreSummary {
  list: (ListHead & { size: number }) | null
  /** The number of journal entries that wait for their upload, by project. Includes entries with `isHeld`. */
  waiting: ReadonlyMap<string, number>
  /** The latest decisions, newest first. */
  recent: Decision[]
  conflicts: Decision[]
  counts: Counts
  zones: readonly KnownZone[]
  /** The entries with `isHeld`, oldest first. */
  held: readonly HeldCount[]
  rejections: Pick<JournalEntry, 'rejection' | 'isOfAnother' | 'scannedAt'>[]
}

/** The digests of a scanned code, in hex. */
export interface ScannedCode {
  /** The digest of the payload. */
  digest: string
  /**
   * The digests of messages that a scanner can alter to this payload, in the order in which they are tried. Each
   * applies only to barcodes of its format.
   */
  others: readonly { format: BarcodeFormat; digest: string }[]
}

/** The facts about an attempt, from the stored list and the journal. */
export interface OwnFacts
  extends Pick<OfflineFacts, 'snapshotId' | 'matches' | 'members' | 'acceptedScansOf' | 'unsentUsesOf'> {
  presenceIn(movement: DoorMovement, at: Date): (item: SnapshotItem) => PresenceFacts
  zones: readonly KnownZone[]
}

/** Thrown if the disk, or the storage quota of this page, is full. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError'
}

/** The maximum number of recent decisions that are shown, in addition to conflicts. */
export const RECENT_DECISIONS = 50
/** The maximum number of conflicts that are stored and shown. The server's ledger has all conflicts. */
export const KEPT_CONFLICTS = 200

/** A decision in the lists of recent scans and conflicts. */
export interface StoredDecision {
  seq?: number
  externalRef: string
  decision: Decision
  /** The movement of an accepted scan. A reversal needs it after the scan's journal entry was deleted. */
  movement?: OwnMovement | undefined
  /** Set if the server decided differently from this phone. */
  conflict?: 1
  /** Set if the phone made the decision when it was another door. */
  before?: 1
}

/** Single values, each in a row of the table `meta`. */
export interface Meta {
  identity: Identity
  /** The milliseconds to add to the phone's clock to get the server's time. */
  clockOffset: number
  /** The list in use. `slot` is the table with its passes. */
  list: ListHead & { size: number; slot: Slot }
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
  /** Decisions, reversals, and counts, oldest first. Each is deleted when the stored list contains it. */
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
  /** Returns the rows with `value` in an index. Without `value`, returns all rows that are in the index. */
  find<T extends Table>(table: T, index: string, value?: Key, limit?: number): Promise<Rows[T][]>
  list<T extends Table>(table: T, options?: { after?: Key | undefined; limit?: number }): Promise<Rows[T][]>
  newest<T extends Table>(table: T, limit: number): Promise<Rows[T][]>
  count(table: Table): Promise<number>
  countBy(table: Table, index: string): Promise<Map<string, number>>
  /** Inserts rows, or replaces the rows with the same keys. */
  put<T extends Table>(table: T, rows: readonly Rows[T][]): Promise<void>
  remove(table: Table, keys: readonly Key[]): Promise<void>
  clear(table: Table): Promise<void>
}

/** A database with the tables of a door: IndexedDB in a browser, SQLite in a console. */
export interface TableDatabase {
  /** Runs work that reads these tables in one transaction. The work must await only methods of the transaction. */
  read<T>(tables: readonly Table[], work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs work that changes these tables in one transaction, which is on disk when the promise resolves. Transactions
   * that write run one at a time, even across tabs and processes. With `isRelaxed`, a power failure can undo the work.
   * @throws StorageFullError
   */
  write<T>(
    tables: readonly Table[],
    work: (tx: Transaction) => Promise<T>,
    options?: { isRelaxed: boolean },
  ): Promise<T>
  close(): Promise<void>
}
