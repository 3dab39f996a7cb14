import type { DoorGroup } from '../../core/contract/schemas/scan-shapes.ts'
import type { Attempt, Candidate, Outcome } from '../../core/rules/door/outcome.ts'
import type { ZoneAtDoor } from '../../core/rules/door/presence-at-door.ts'

/**
 * The engine of a door: evaluates scans with the server, or offline with a stored list of passes (the snapshot of the
 * API), and keeps its decisions until the server has them. The engine has no user interface: pages subscribe to its
 * state and call its methods. `openEngine` creates an engine (decisions/0009).
 */
export interface DoorEngine {
  readonly state: EngineState
  subscribe(listener: (state: EngineState) => void): () => void
  /**
   * Turns this phone into a door with the code of an invitation, and starts to load the list of passes.
   * @param name the name of the phone
   * @returns null, or the reason that the claim failed; pending entries of a previous door are kept in both cases
   */
  claim(code: string, name: string): Promise<ClaimFailure | null>
  /**
   * Moves this door to another gate, whose name has 1 to 100 characters.
   * @returns null, or the reason that the door was not moved
   */
  moveTo(gate: string): Promise<GateFailure | null>
  /**
   * Sets the zone and direction of later scans; `null` removes the zone. Also works offline, because each scan is
   * uploaded with its zone and direction.
   */
  setMovement(movement: DoorMovement | null): Promise<void>
  /**
   * Counts a person who enters (1) or leaves (-1) the zone of this door without a scan, also offline.
   * @returns null if there is no zone, or if the count could not be stored
   */
  adjust(delta: 1 | -1): Promise<Adjustment | null>
  /** Reverses an adjustment, once. Returns false if the reversal could not be stored. */
  undoAdjustment(adjustment: Adjustment): Promise<boolean>
  /**
   * Evaluates a scan after all earlier scans. An offline decision is on disk before the promise resolves. The promise
   * never rejects.
   */
  scan(request: ScanRequest): Promise<Decision>
  /** Admits several passes of a group, one scan each, in the given order. */
  scanAll(passIds: readonly string[]): Promise<Decision[]>
  /** Reverses an accepted scan: in the ledger immediately or, if offline, when the server is reachable again. */
  undo(decision: Decision): Promise<Decision>
  /** Returns the passes in the stored list that have a text in their name or external ID, exact matches first. */
  search(text: string, limit: number): Promise<Candidate[]>
  /** Returns the group of a pass, or `null` if it has none; `undefined` if the stored list lacks the pass. */
  findGroup(passId: string): Promise<DoorGroup | null | undefined>
  /**
   * Returns the number of people admitted at each gate of the project since midnight on this phone; `undefined` if it
   * is not available.
   */
  gates(): Promise<readonly GateCount[] | undefined>
  /** Probes the server now. */
  retry(): void
  /**
   * Hides a problem that needs no further action, such as lost data or a rejected scan. Pending entries of another
   * project are reported again when the page is reloaded.
   */
  dismiss(code: Problem['code']): Promise<void>
  /**
   * Removes this door from this phone: uploads pending entries (scans, reversals, and counts) if possible, then removes
   * the token and the stored list.
   * @returns the number of entries that are still pending. The phone keeps them, and uploads them if it becomes a door
   *   of the same project again
   */
  forget(): Promise<number>
  /** Uploads pending entries. Also waits until a running update of the stored list has ended. */
  flush(): Promise<void>
  /** Stops after the current scan. Waiting scans never resolve. Stored data is kept. */
  stop(): Promise<void>
}

/** The operator's settings for scans, as in POST /v1/scans. */
export interface ScanOptions {
  /** The date, as YYYY-MM-DD, for which the scan is evaluated; by default, the time of the scan. */
  validityDate?: string | undefined
  scanContextKey?: string | undefined
}

/** An entry or exit that was counted without a scan. */
export interface Adjustment {
  externalRef: string
  zoneId: string
  delta: number
}

export type ScanRequest = ScanOptions &
  ({ payload: string; method: ScanMethod } | { passId: string; payload?: string | undefined; method: ScanMethod })

/** The way a pass was identified: by the camera, by a keyboard scanner, typed, or selected from a list. */
export type ScanMethod = 'camera' | 'scanner' | 'typed' | 'chosen'

/**
 * The decision on a scan or a reversal. `message` is in the language of the engine if the server or the rules created
 * it. For a failure that the engine found, it is empty, except for `failed`, where it is the text of the error.
 */
export interface Decision extends Outcome {
  /** The reason that there is no decision; `null` unless the result is `error`. The page describes the reason. */
  failure: ScanFailure | null
  isUndone: boolean
  /** Whether this decision was made offline and is not yet uploaded. */
  isPending: boolean
}

/**
 * The reason that there is no decision.
 * - `storage_full`: the decision could not be stored, so it must not admit anyone
 * - `no_list`: the server does not respond, and no list of passes is stored
 * - `not_claimed`: this phone is not a door, or no longer a door
 * - `invalid_code`: the code is empty or too long for the code of a pass
 * - `exit_deleted`: the zone of this exit was deleted, and a scan without a zone would admit the person
 * - `refused`: the server responds, but rejects the request; `message` has the reason
 * - `not_undone`: the scan cannot be reversed
 * - `of_another`: the reversed scan belongs to another door, such as the previous door of this phone
 * - `failed`: any other error, described in `message`
 */
export type ScanFailure =
  | 'storage_full'
  | 'no_list'
  | 'not_claimed'
  | 'invalid_code'
  | 'exit_deleted'
  | 'refused'
  | 'not_undone'
  | 'of_another'
  | 'failed'

export interface ClaimFailure {
  /**
   * The reason that the claim failed. If the server rejects the invitation, it is `used_up`, `ended`, or
   * `unknown_code`.
   */
  code: 'used_up' | 'ended' | 'unknown_code' | 'no_answer' | 'refused' | 'storage_full' | 'server_too_old'
  /** The reason of the server for `refused`, in English. */
  message?: string
}

export interface GateFailure extends Pick<ClaimFailure, 'message'> {
  code: 'no_answer' | 'refused'
}

/** The state of a door for its page. Each change creates a new object. */
export interface EngineState {
  /** The door; `null` if this phone is not a door. */
  door: DoorProperties | null
  /** The zone of this door; `null` without a zone, or if the zone is not known yet. */
  zone: KnownZone | null
  zones: readonly KnownZone[]
  /** The state of the connection; `unknown` until the first probe. */
  connection: 'unknown' | 'online' | 'offline'
  offlineSince: Date | null
  /** The stored list of passes for offline decisions; `null` if there is none. */
  list: { size: number; generatedAt: Date } | null
  /** The number of passes that are loaded so far; `null` unless a whole list is being loaded. */
  loading: number | null
  /** The server's reason for rejecting requests for the list; `null` if it accepts them. */
  listRejection: string | null
  /** The server's reason for rejecting all uploads; `null` if it accepts them. */
  uploadRejection: string | null
  /** The number of decisions, reversals, and counts of people that are not uploaded. */
  pending: number
  /** This phone's decisions with which the server disagreed, newest first. */
  conflicts: readonly Decision[]
  /** The latest scans of this phone, newest first. */
  recent: readonly Decision[]
  counts: Counts
  /** The problems for the operator, most severe first. */
  problems: readonly Problem[]
  /**
   * Whether the browser has promised to keep the stored data; `null` if the browser was not asked yet, or does not
   * support this.
   */
  isPersistent: boolean | null
}

/** The properties of a door that its page shows. The project of a console that scans all projects is ''. */
export interface DoorProperties {
  id: string
  name: string
  gate: string
  projectId: string
  projectName: string | null
  /** The zone and direction of the next scans; undefined without a zone. */
  movement?: DoorMovement | undefined
}

/** The zone and direction of scans. */
export type DoorMovement = NonNullable<Attempt['movement']>

export interface KnownZone extends ZoneAtDoor {
  name: string
  /**
   * The time of the server's number of people inside. `inside` is this number plus the changes of this door that it
   * does not include.
   */
  at: string
}

/** The numbers of scans since this phone became a door. */
export interface Counts {
  accepted: number
  turnedAway: number
  /** The number of accepted exits. */
  left: number
}

/** The number of people admitted at a gate, by any door, console, or scanner. */
export interface GateCount {
  /** The gate's name; `null` for scans without a gate. */
  gate: string | null
  accepted: number
}

export type Problem =
  /** Storage is full: offline scans are not evaluated. */
  | { code: 'storage_full' }
  /** The browser removed the stored data, including `pending` decisions that were not uploaded. */
  | { code: 'storage_lost'; pending: number }
  /**
   * The door was revoked, or its token expired: nothing is evaluated. The phone keeps pending entries, and uploads them
   * if it becomes a door of the same project again.
   */
  | { code: 'revoked' }
  /** Pending decisions of a door of another project, which a door of this project cannot upload. */
  | { code: 'pending_elsewhere'; pending: number }
  /** A zone of this door was deleted, so that scans no longer count people in it. */
  | { code: 'zone_deleted'; name: string }
  /**
   * The zone of this exit was deleted: nothing is evaluated until a user chooses another zone, or to scan without a
   * zone.
   */
  | { code: 'exit_deleted' }
  /**
   * The server rejected exits counted without a scan, because the number of people inside would become negative (for
   * example, while an entrance is offline). This phone retries them. Until they are accepted, the number excludes them.
   */
  | { code: 'counts_held'; references: readonly string[] }
  /**
   * The server rejected decisions: `scans` is their number, and `message` the reason for the last one. They stay on the
   * phone until the operator dismisses the problem. `isOfAnother`: the last decision reverses a scan of another door.
   */
  | { code: 'rejected'; scans: number; message: string; scannedAt: string; isOfAnother?: boolean }
  /** The server rejects every request of this door, for example because the workspace is suspended. */
  | { code: 'refused'; message: string }
  /** The server is older than this page needs. It is treated as unreachable. */
  | { code: 'server_too_old' }
  /** The workspace does not allow offline scans, so no list of passes is stored. */
  | { code: 'offline_disabled' }
  /** The phone's clock is ahead by `byMs` milliseconds (behind if negative). Scans still have the correct time. */
  | { code: 'clock_wrong'; byMs: number }
