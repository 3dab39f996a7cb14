import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import { candidateOfItem } from '../../core/rules/door/matches.ts'
import type { Candidate, Outcome } from '../../core/rules/door/outcome.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import type { DoorEngine, EngineState, KnownZone, Problem, ScanOptions } from '../../door/engine/engine.ts'
import { openEngine } from '../../door/engine/open-engine.ts'
import { clockTime } from '../command/output.ts'
import { ask, type ConsoleEnvironment, consoleEnvironment } from './environment.ts'
import { EXIT_DELETED, failureMessage, listRejectionText, outcomeOf } from './outcome.ts'

/** Values that the operator sets for the next scans (F4); `null` uses the clock and the policy. */
export interface Overrides {
  scanContextKey: string | null
  /** The validity date, as YYYY-MM-DD. */
  validityDate: string | null
}

export interface DoorState {
  /** `offlineSince` is `null` while online; `rejection` is the server's reason for rejecting pending decisions. */
  connection: { offlineSince: Date | null; rejection: string | null }
  /** The stored list of passes, and the server's reason for rejecting requests for the list. */
  lists: { list: EngineState['list']; rejection: string | null }
  overrides: Overrides
  /** The direction of the next scans, and the zone, if it is known yet. `null` to scan without a zone. */
  movement: { direction: Direction; zone: KnownZone | null } | null
  /**
   * The newest decision. `null` while a slow scan is evaluated, so that the operator does not take the previous
   * decision for the result of the scan.
   */
  decision: Outcome | null
  /** Whether the current scan takes so long that the screen shows it as pending. */
  isSlow: boolean
  counters: Counters
  /** The number of scans that are not evaluated yet, including the current one. */
  waiting: number
  /** The payloads of the scans that are not evaluated yet, oldest first. */
  unevaluated: readonly string[]
  /** The number of decisions that are not uploaded yet. */
  pending: number
  /** The number of decisions that the server disagreed with, without those that an earlier console has shown. */
  conflicts: number
  notice: string | null
}

export interface DoorOptions extends ConsoleEnvironment {
  overrides: Overrides
  /** Called once for each scan and reversal, when it is decided. */
  onOutcome: (outcome: Outcome) => void
  onChange: () => void
}

export type Door = Awaited<ReturnType<typeof createDoor>>

/** The delay before the previous decision is cleared. Most decisions arrive sooner, so the screen does not flicker. */
const SOON_MS = 300

/** Creates the door of the console. Its methods never throw: errors become outcomes or notices. */
export async function createDoor(options: DoorOptions) {
  const { client, station, clock, onOutcome, onChange } = options
  const engine = await openEngine(consoleEnvironment(options))
  /** The queued scans and reversals, in order. The engine works on the first of them. */
  const tasks: { name: string }[] = []
  let first: { name: string } | undefined
  let slowTimer: NodeJS.Timeout | undefined
  /** The external references of conflicts that an earlier console has shown. */
  const earlier = new Set(engine.state.conflicts.map(({ externalRef }) => externalRef))
  let standing = standingNotice(engine.state)
  const state: DoorState = {
    ...shownOf(engine.state, earlier),
    overrides: options.overrides,
    decision: null,
    isSlow: false,
    counters: noScans,
    waiting: 0,
    unevaluated: [],
    notice: standing,
  }
  engine.subscribe((now) => {
    Object.assign(state, shownOf(now, earlier))
    const before = standing
    standing = standingNotice(now)
    if (standing !== before) state.notice = standing
    state.counters = amend(
      state.counters,
      now.recent.map((decision) => outcomeOf(decision, now)),
    )
    const problem = now.problems.find((one) => one.code === 'rejected')
    if (problem) {
      state.notice = `The server rejected the scan at ${clockTime(problem.scannedAt)}: ${problem.message}`
      // Ignore an error, such as a full disk: the next start then shows the rejection again.
      engine.dismiss('rejected').catch(() => undefined)
    }
    onChange()
  })

  /** Updates the state of queued scans. If the first scan is slow, clears the previous decision. */
  function watchTasks(): void {
    state.waiting = tasks.length
    state.unevaluated = tasks.map(({ name }) => name)
    if (tasks[0] !== first) {
      first = tasks[0]
      clearTimeout(slowTimer)
      state.isSlow = false
      if (first) slowTimer = setTimeout(showSlow, SOON_MS)
    }
    onChange()
  }

  function showSlow(): void {
    state.decision = null
    state.isSlow = true
    onChange()
  }

  async function track(name: string, work: Promise<Outcome>): Promise<Outcome> {
    const task = { name }
    tasks.push(task)
    watchTasks()
    const outcome = await work
    tasks.splice(tasks.indexOf(task), 1)
    state.decision = outcome
    state.notice = standing
    if (outcome.result !== 'same_scan') state.counters = count(state.counters, outcome, clock().getTime())
    watchTasks()
    onOutcome(outcome)
    return outcome
  }

  async function evaluate(request: { payload: string; method: 'scanner' } | { passId: string; method: 'chosen' }) {
    return outcomeOf(await engine.scan({ ...scanOptions(state.overrides), ...request }), engine.state)
  }

  async function reverse(scan: Outcome): Promise<Outcome> {
    const undone = await engine.undo({ ...scan, failure: null, isUndone: false, isPending: false })
    const group = scan.passId === null ? null : ((await engine.findGroup(scan.passId)) ?? null)
    const { zoneId, direction } = scan
    const movement = zoneId === undefined ? {} : { zoneId, direction }
    return {
      ...outcomeOf(undone, engine.state),
      ...movement,
      label: scan.label,
      group: undone.failure === null ? group : null,
    }
  }

  return {
    state,
    /** Scans a payload. Resolves to the outcome, which `onOutcome` also receives. */
    scan: (payload: string) => track(payload, evaluate({ payload, method: 'scanner' })),
    /** Scans a pass that the operator chose from a list. */
    admit: (passId: string) => track(passId, evaluate({ passId, method: 'chosen' })),
    /** Sets overrides for all later scans. */
    arm(overrides: Partial<Overrides>): void {
      state.overrides = { ...state.overrides, ...overrides }
      onChange()
    },
    /** Switches the direction of the next scans. Does nothing without a zone. */
    turn(): void {
      const { movement } = engine.state.door ?? {}
      if (movement) void engine.setMovement({ ...movement, direction: opposite(movement.direction) })
    },
    /** Returns the scan that F3 would reverse. */
    lastAccepted(): Outcome | undefined {
      const undone = new Set(
        engine.state.recent.filter(({ isUndone }) => isUndone).map(({ externalRef }) => externalRef),
      )
      return state.counters.last.find(({ result, externalRef }) => result === 'accepted' && !undone.has(externalRef))
    },
    /** Queues the reversal of a scan; `onOutcome` receives the result. */
    undo: (scan: Outcome): void => void track('an undo', reverse(scan)),
    /** Finds passes by name or external ID, or returns the reason why a search is not possible. */
    search: (text: string) => findPasses(text, { client, engine, projectId: station.projectId }),
    /** Shows a line until the next outcome or until `notify(null)`. After that, the standing notice is shown again. */
    notify(text: string | null): void {
      state.notice = text ?? standing
      onChange()
    },
    /** Removes the line of `notify` and the standing notice, except that of an exit door whose zone was deleted. */
    dismiss(): void {
      void engine.dismiss('zone_deleted')
      state.notice = standing === EXIT_DELETED ? standing : null
      onChange()
    },
    /** Resolves when the door is online, or after the timeout. */
    whenOnline: (timeoutMs: number) => Promise.race([untilOnline(engine), sleep(timeoutMs, undefined, { ref: false })]),
    /** Uploads decisions and lets a running update of the stored list finish. Returns after the timeout at the latest. */
    flush: (timeoutMs: number) => Promise.race([engine.flush(), sleep(timeoutMs, undefined, { ref: false })]),
    /** Stops after the current scan; resolves to the payloads that were not evaluated. */
    async stop(): Promise<readonly string[]> {
      await engine.stop()
      clearTimeout(slowTimer)
      return tasks.map(({ name }) => name)
    },
  }
}

/** Returns the notice that stays visible after scans. A notice is one line, cut off at 80 columns. */
function standingNotice({ problems }: EngineState): string | null {
  const has = (code: Problem['code']) => problems.some((problem) => problem.code === code)
  if (has('exit_deleted')) return EXIT_DELETED
  // The disk can be full, or the folder can be read-only or missing.
  if (has('storage_full')) return 'Scans and the list cannot be stored: free disk space, or check the folder.'
  return has('zone_deleted') ? 'Zone deleted: people are not counted. Restart with --zone. Esc hides this.' : null
}

function shownOf(
  state: EngineState,
  earlier: ReadonlySet<string>,
): Pick<DoorState, 'connection' | 'lists' | 'movement' | 'pending' | 'conflicts'> {
  const { door, zone, offlineSince, uploadRejection, list, pending, conflicts } = state
  return {
    movement: door?.movement ? { direction: door.movement.direction, zone } : null,
    connection: { offlineSince, rejection: uploadRejection },
    lists: { list, rejection: listRejectionText(state) },
    pending,
    conflicts: conflicts.filter(({ externalRef }) => !earlier.has(externalRef)).length,
  }
}

function scanOptions({ scanContextKey, validityDate }: Overrides): ScanOptions {
  return { scanContextKey: scanContextKey ?? undefined, validityDate: validityDate ?? undefined }
}

function untilOnline(engine: DoorEngine): Promise<void> {
  return new Promise((resolve) => {
    const onState = ({ connection }: EngineState) => {
      if (connection === 'online') resolve()
    }
    engine.subscribe(onState)
    onState(engine.state)
  })
}

const LIMIT = 20

async function findPasses(
  text: string,
  options: { client: Client; engine: Pick<DoorEngine, 'state' | 'search'>; projectId: string | undefined },
): Promise<Candidate[] | string> {
  const { client, engine, projectId } = options
  const { connection, list } = engine.state
  if (connection === 'online') {
    const scope = { limit: LIMIT, ...(projectId && { projectId }) }
    const queries = [{ externalPassId: text }, { label: text }, { search: text }]
    const reply = await ask((callOptions) =>
      Promise.all(queries.map((query) => client.passes.list({ query: { ...query, ...scope } }, callOptions))),
    )
    // If the server forbids the search, search the stored list: a door-only token can read only that list.
    const isForbidden = reply.kind === 'rejection' && reply.error.status === 403 && list !== null
    if (reply.kind === 'rejection' && !isForbidden) return failureMessage(reply.error)
    if (reply.kind === 'answer') {
      // Put exact matches first. Otherwise, newer partial matches could push them beyond the limit.
      const found = new Map(reply.value.flatMap(({ items }) => items).map((pass) => [pass.id, pass]))
      return [...found.values()]
        .slice(0, LIMIT)
        .map(({ id, label, externalPassId, status }) =>
          candidateOfItem({ passId: id, label, externalPassId, templateName: null, status }),
        )
    }
  }
  return list === null ? 'No response from the server, and there is no stored list.' : engine.search(text, LIMIT)
}

export function opposite(direction: Direction): Direction {
  return direction === 'in' ? 'out' : 'in'
}

/** The recent scans and the counters of this console since it started. */
export interface Counters {
  /** The recent scans, newest first. */
  last: Outcome[]
  /** The number of accepted scans that were not reversed, except exits. */
  accepted: number
  turnedAway: number
  /** The number of accepted exits that were not reversed. */
  left: number
  /** The times, in milliseconds, of the newest decision and of the decisions in the minute before it. */
  recent: number[]
}

const LAST = 8
const MINUTE_MS = 60_000

export const noScans: Counters = { last: [], accepted: 0, turnedAway: 0, left: 0, recent: [] }

export function count(counters: Counters, outcome: Outcome, at: number): Counters {
  // Do not count an ambiguous scan, because the operator's choice that follows is counted as the decision.
  const isDecision = !['error', 'reversal', 'ambiguous'].includes(outcome.result)
  const change = outcome.result === 'accepted' ? 1 : outcome.result === 'reversal' ? -1 : 0
  const isExit = outcome.direction === 'out'
  return {
    last: [outcome, ...counters.last].slice(0, LAST),
    accepted: counters.accepted + (isExit ? 0 : change),
    left: counters.left + (isExit ? change : 0),
    turnedAway: counters.turnedAway + (isDecision && outcome.result !== 'accepted' ? 1 : 0),
    recent: isDecision ? [...recentAt(counters, at), at] : counters.recent,
  }
}

/** Updates the recent scans with later results of the engine, such as an upload or a conflict. */
function amend(counters: Counters, known: readonly Outcome[]): Counters {
  const byReference = new Map(known.map((outcome) => [outcome.externalRef, outcome]))
  return {
    ...counters,
    last: counters.last.map((outcome) => {
      const { scanId, conflict, verified } = byReference.get(outcome.externalRef) ?? outcome
      return outcome.result === 'same_scan' ? outcome : { ...outcome, scanId, conflict, verified }
    }),
  }
}

/** Returns the number of decisions in the minute before a time. */
export function rate(counters: Counters, at: number): number {
  return recentAt(counters, at).length
}

function recentAt({ recent }: Counters, at: number): number[] {
  return recent.filter((moment) => at - moment < MINUTE_MS)
}
