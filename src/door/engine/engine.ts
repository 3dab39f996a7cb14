import type { DoorGroup } from '../../core/contract/scan-shapes.ts'
import type { Candidate, Outcome } from '../../core/rules/door/outcome.ts'

/**
 * The engine of a door in a browser: evaluates scans with the server or without it, and keeps what it decided until the server has
 * it. It knows no screen: pages subscribe to its state and call its methods. `openEngine` makes one (decisions/0009).
 */
export interface DoorEngine {
  readonly state: EngineState
  /** Calls the listener after each change of the state; returns what ends that. */
  subscribe(listener: (state: EngineState) => void): () => void
  /**
   * Makes this phone a door with the code of an invitation, and begins to fetch the list.
   * @param name what people call the phone
   * @returns null, or why it is no door now; what a door of before has not uploaded is kept
   */
  claim(code: string, name: string): Promise<ClaimFailure | null>
  /**
   * Sends this door to another gate, of 1 to 100 characters.
   * @returns null, or why it stays where it is
   */
  moveTo(gate: string): Promise<GateFailure | null>
  /** Evaluates what is held up. On the disk before it resolves, and it never throws; scans take their turns. */
  scan(request: ScanRequest): Promise<Verdict>
  /** Lets several passes of a group in, one scan each, in the order given. */
  scanAll(passIds: readonly string[], options?: ScanOptions): Promise<Verdict[]>
  /** Takes an accepted scan back: in the ledger at once, or without the server once it is there again. */
  undo(verdict: Verdict): Promise<Verdict>
  /** Passes of the list whose name or external id holds a text, those called exactly so first. */
  search(text: string, limit: number): Promise<Candidate[]>
  /** The pass of a list entry as the list has it, with how far its group is in; undefined where the list has none. */
  look(passId: string): Promise<{ candidate: Candidate; group: DoorGroup | null } | undefined>
  /** Who was let in at each gate of the project since the day of this phone began; undefined where the server does not say. */
  gates(): Promise<readonly GateCount[] | undefined>
  /** Looks for the server now rather than when its turn comes. */
  retry(): void
  /**
   * Removes a problem that was read and needs nothing more: a loss, a rejected scan. What waits for another project is told
   * again when the page is opened anew.
   */
  dismiss(code: Problem['code']): Promise<void>
  /**
   * Ends this door on this phone: uploads what waits if it can, then removes the token and the list.
   * @returns how many decisions still wait; they are kept for the next door of the project
   */
  forget(): Promise<number>
  /** Uploads what waits, and completes the list that is on its way. */
  flush(): Promise<void>
  /** Stops after the current scan. Scans that wait never resolve. What is stored is kept. */
  stop(): Promise<void>
}

/** What the operator sets for scans, as POST /v1/scans takes it. */
export interface ScanOptions {
  /** YYYY-MM-DD: evaluated as of another date. */
  validityDate?: string | undefined
  scanContextKey?: string | undefined
}

/** What is held up, or chosen by hand from candidates, a group or a search. */
export type ScanRequest = ScanOptions &
  ({ payload: string; method: ScanMethod } | { passId: string; payload?: string | undefined; method: ScanMethod })

/** How a pass was named: held before the camera, by a scanner that types, typed by hand, or chosen from a list. */
export type ScanMethod = 'camera' | 'scanner' | 'typed' | 'chosen'

/** What became of a scan or an undo. `message` is in the language of the engine where the server or the rules made it. */
export interface Verdict extends Outcome {
  /** With result `error` alone: why nobody decided, for the page to put into words. */
  failure: ScanFailure | null
  /** Set on an accepted scan that was taken back since. */
  isUndone: boolean
  /** Decided without the server, which has not got it yet. */
  isPending: boolean
}

/**
 * - `storage_full`: it could not be stored, so it is no verdict; whoever it is must not go in by it
 * - `no_list`: no answer from the server, and there is no list to decide by
 * - `not_claimed`: this phone is no door, or no door any more
 * - `invalid_code`: empty or too long, so no code of a pass
 * - `refused`: the server is there and will not evaluate it; `message` says why
 * - `not_undone`: the scan is none that can be taken back
 * - `of_another`: an undo of a scan of another door, such as the one that this phone was before
 * - `failed`: something else broke; `message` says what
 */
export type ScanFailure =
  | 'storage_full'
  | 'no_list'
  | 'not_claimed'
  | 'invalid_code'
  | 'refused'
  | 'not_undone'
  | 'of_another'
  | 'failed'

/** `message` is the server's, in English. */
export interface ClaimFailure {
  /** Of an invitation: `used_up`, `ended` or `unknown_code`. */
  code: 'used_up' | 'ended' | 'unknown_code' | 'no_answer' | 'refused' | 'storage_full' | 'server_too_old'
  message: string
}

/** `message` is the server's, in English. */
export interface GateFailure {
  code: 'no_answer' | 'refused'
  message: string
}

/** Everything that a page shows of its door. A new object after each change, never changed itself. */
export interface EngineState {
  /** Null where this phone is no door. */
  door: { id: string; name: string; gate: string; projectId: string; projectName: string | null } | null
  /** Unknown until the server was first asked. */
  connection: 'unknown' | 'online' | 'offline'
  /** Null while it is not offline. */
  offlineSince: Date | null
  /** What decides without the server; null where there is none yet. */
  list: { size: number; generatedAt: Date } | null
  /** Passes that have come so far of a list on its way; null where none is. */
  loading: number | null
  /** Why the server gives out no list; null if it does. */
  listRejection: string | null
  /** Why the server takes none of the decisions that wait; null if it does. */
  uploadRejection: string | null
  /** Decisions and undos that the server has not got. */
  pending: number
  /** Decisions with which the server disagreed, newest first. */
  conflicts: readonly Verdict[]
  /** The last scans of this phone, newest first. */
  recent: readonly Verdict[]
  counts: Counts
  /** What to tell the operator, the gravest first. */
  problems: readonly Problem[]
  /** Scans that wait for their verdict. */
  waiting: number
  /** Whether the browser promised to keep what is stored; null where it was not asked yet. */
  isPersistent: boolean | null
}

/** Scans since this phone became a door. */
export interface Counts {
  accepted: number
  turnedAway: number
}

/** How many were let in at a gate, by whatever door, console or scanner. */
export interface GateCount {
  /** Null for those that name none. */
  gate: string | null
  accepted: number
}

/** What stands in the way, for the page to put into words. */
export type Problem =
  /** Nothing can be stored: offline scans are not evaluated. */
  | { code: 'storage_full' }
  /** The browser removed what was stored; so many decisions were on this phone alone. */
  | { code: 'storage_lost'; pending: number }
  /** The door was revoked, or its token ended: nothing is evaluated; what waits is kept for the next door of the project. */
  | { code: 'revoked' }
  /** Decisions of a door of another project, which none of this one can upload. */
  | { code: 'pending_elsewhere'; pending: number }
  /**
   * The server does not take these decisions, and says why of the last; they stay on the phone until this is dismissed.
   * `isOfAnother`: that one is the undo of a scan of another door, see ScanFailure.
   */
  | { code: 'rejected'; scans: number; message: string; scannedAt: string; isOfAnother?: boolean }
  /** The server refuses every request of this door, such as while the workspace is suspended. */
  | { code: 'refused'; message: string }
  /** The server answers, but as one of an older version: it is used as if it were away. */
  | { code: 'server_too_old' }
  /** The workspace allows no scans without the server: there is no list. */
  | { code: 'offline_disabled' }
  /** By so much the clock of the phone is ahead (or behind, if negative). Scans are dated rightly all the same. */
  | { code: 'clock_wrong'; byMs: number }
