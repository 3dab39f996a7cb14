import type { LedgerReason } from '../../core/contract/scan-shapes.ts'
import type { SnapshotItem } from '../../core/contract/scanner.ts'
import type { OfflineFacts } from '../../core/rules/door/evaluate-offline.ts'
import type { Attempt, Candidate } from '../../core/rules/door/outcome.ts'
import type { OfflineDecision, OwnScan } from '../../core/rules/door/own-scans.ts'
import type { Verdict } from './engine.ts'

/** The identity of a door. The project of a console that scans all projects is ''. */
export interface Identity {
  token: string
  door: { id: string; name: string; gate: string; projectId: string; projectName: string | null }
}

/** The head of a list: what it is called, and when the server made it. */
export interface ListHead {
  id: string
  generatedAt: string
}

/** What this phone knows of a scan beside the list, and what the server must be told of it. */
export interface JournalEntry extends OwnScan {
  externalRef: string
  projectId: string
  /** The pass whose uses it changes; absent where it changes none. */
  passId?: string | undefined
  /** Whether it took a use, gave one back, or neither. */
  kind: 'accepted' | 'reversed' | 'denied'
  /** The project, while the server has not got it. */
  waits?: string | undefined
  /** Of a decision that was made without the server. */
  decision?: OfflineDecision | undefined
  /** Of an undo: the scan that it takes back, by its externalRef and once it is known by its id. */
  undoes?: { externalRef: string; scanId: string | null } | undefined
  /** Why the server will never take it; kept until somebody has read it. */
  rejection?: string | undefined
  /** Of a rejected undo: its scan is one of another door. */
  isOfAnother?: boolean | undefined
}

/** What became of an entry at the server. */
export interface UploadResult {
  externalRef: string
  /** Null where the server refused it for good. */
  recordedAt: string | null
  scanId?: string | undefined
  conflict?: LedgerReason | null | undefined
  rejection?: string | undefined
  /** With a rejection of an undo: its scan is one of another door, such as the one that this phone was before. */
  isOfAnother?: boolean | undefined
}

/** A pass by what people call it, and how it stands. */
export type NamedItem = Omit<Candidate, 'standing'> & Pick<SnapshotItem, 'status'>

/** What a door on this phone holds, in numbers and in what is shown. */
export interface StoreSummary {
  list: (ListHead & { size: number }) | null
  /** Entries that wait, by project. */
  waiting: ReadonlyMap<string, number>
  /** Newest first. */
  recent: Verdict[]
  conflicts: Verdict[]
  counts: { accepted: number; turnedAway: number }
  rejections: Pick<JournalEntry, 'rejection' | 'isOfAnother' | 'scannedAt'>[]
}

/**
 * Where a door keeps what it must not forget. Each method is one transaction: done as a whole, and on the disk when it
 * resolves; transactions that write take their turns, in other tabs of the phone too.
 */
export interface EngineStore {
  identity(): Promise<Identity | undefined>
  setIdentity(identity: Identity): Promise<void>
  /** By how much the clock of the phone was wrong when the server was last there; undefined where it never was. */
  clockOffset(): Promise<number | undefined>
  setClockOffset(offsetMs: number): Promise<void>
  summary(): Promise<StoreSummary>

  /**
   * Notes an attempt before the server is asked, so that one that a crash cut off is asked again under its own name.
   * @returns the externalRef to use: that of the same attempt before, where nothing became of it since `notBefore`
   */
  beginAttempt(key: string, attempt: { externalRef: string; at: number; notBefore: number }): Promise<string>
  /** Stores what the server decided, and that the attempt is over. */
  settle(attemptKey: string, verdict: Verdict, entry: JournalEntry | null): Promise<void>
  /**
   * Evaluates an attempt by the list, and stores what became of it; undefined where there is no list.
   * @param digest of the payload, in hex
   */
  evaluate(
    attemptKey: string,
    attempt: Attempt,
    digest: string | null,
    decide: (facts: OwnFacts) => { verdict: Verdict; entry: JournalEntry },
  ): Promise<Verdict | undefined>
  /** What the list and this phone know of one pass. */
  look<T>(passId: string, read: (facts: OwnFacts) => T): Promise<T | undefined>
  /** Stores an undo, and that its scan is taken back; it waits with its scan, where that is still to go to another project. */
  undo(verdict: Verdict, entry: JournalEntry): Promise<void>
  verdict(externalRef: string): Promise<Verdict | undefined>

  /** The oldest entries of a project that wait. */
  waiting(projectId: string, limit: number): Promise<JournalEntry[]>
  settleUploads(results: readonly UploadResult[]): Promise<void>
  dismissRejections(): Promise<void>

  /** Begins a list next to the one in use, which is kept. */
  beginList(head: ListHead): Promise<void>
  addToList(items: readonly SnapshotItem[]): Promise<void>
  /** Takes the new list into use, and lets go of what it holds. */
  finishList(head: ListHead): Promise<void>
  /** Changes the list in use; with a head it is that list from then on. */
  amendList(changed: readonly SnapshotItem[], removed: readonly string[], head: ListHead | null): Promise<void>
  /** The names of all passes of the list in use. */
  names(): Promise<readonly NamedItem[]>
  /** Removes the list. */
  dropList(): Promise<void>
  /**
   * Removes token, list and everything that names guests, but for what waits. Does nothing where this phone is another door
   * than that of the token by now.
   */
  wipe(token: string | undefined): Promise<void>
  close(): Promise<void>
}

/** What a list and the journal say of an attempt. */
export type OwnFacts = Pick<OfflineFacts, 'snapshotId' | 'matches' | 'members' | 'acceptedScansOf'>

/** Nothing more can be stored: the disk or the share of this page is full. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError'
}

/** Verdicts that a phone shows of before; conflicts are kept beside them. */
export const RECENT_VERDICTS = 50
/** Conflicts that are kept to be shown; the ledger has them all. */
export const KEPT_CONFLICTS = 200
