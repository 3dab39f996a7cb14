import type { Client } from '../../client/client.ts'
import { newId } from '../../core/ids.ts'
import { candidateOfItem } from '../../core/rules/door/matches.ts'
import type { Attempt, Candidate, Outcome, Station } from '../../core/rules/door/outcome.ts'
import { createRecentScans } from '../../core/rules/door/recent-readings.ts'
import { ask, type Connection, createConnection } from './connection.ts'
import { evaluate } from './evaluate.ts'
import { clockTime } from './lines.ts'
import { createListKeeper, type ListKeeper } from './offline/snapshot.ts'
import type { DoorStore } from './offline/store.ts'
import { failureMessage } from './outcome.ts'
import { amend, type Counters, count, createUndo, noScans } from './recent-scans.ts'

/** What the operator sets for the scans that follow (F4): null where the clock and the policy decide. */
export interface Overrides {
  scanContextKey: string | null
  /** YYYY-MM-DD. */
  validityDate: string | null
}

/** Everything that is known of a door at a moment. */
export interface DoorState {
  readonly connection: Connection
  readonly lists: ListKeeper
  overrides: Overrides
  /** The newest one; null while the next is slow to come: the operator must not take it for that one's. */
  decision: Outcome | null
  /** The scan in flight has been waited for so long that it is said. */
  isSlow: boolean
  counters: Counters
  /** Scans that are not evaluated yet, the one in flight included. */
  waiting: number
  /** What was read of them, oldest first. */
  unevaluated: readonly string[]
  /** Decisions that the server has not got yet. */
  pending: number
  /** Decisions that the server disagreed with. */
  conflicts: number
  notice: string | null
}

/** What a door is made of: where it stands, what it keeps on disk, and whom it tells. */
export interface DoorOptions {
  client: Client
  store: DoorStore
  /** Where the list is kept. */
  folder: string
  /** What each scan says of its place: project, device, gate. */
  station: Station
  /** Whether the server answered just now. */
  isReached: boolean
  overrides: Overrides
  clock: () => Date
  /** Within so many milliseconds the same code is the same scan. 0 for pipes, where nobody holds a reader. */
  sameScanMs: number
  /** Told once of each scan and undo, when it is decided. */
  onOutcome: (outcome: Outcome) => void
  /** Told after each change of the state. */
  onChange: () => void
}

/** The door behind the console: see createDoor. Nothing of it throws; what goes wrong is an outcome or a notice. */
export interface Door {
  readonly state: DoorState
  /** Resolves to what became of it; the console is told by onOutcome. */
  scan(payload: string): Promise<Outcome>
  /** A pass that was chosen by hand. */
  admit(passId: string): Promise<Outcome>
  /** Sets overrides, from the next scan on. */
  arm(overrides: Partial<Overrides>): void
  /** The scan that F3 would take back. */
  lastAccepted(): Outcome | undefined
  /** Takes a scan back in its turn; the console is told by onOutcome. */
  undo(scan: Outcome): void
  /** Passes by name, or why there are none. */
  search(text: string): Promise<Candidate[] | string>
  /** Shows a line until the next outcome; null takes it away. */
  notify(text: string | null): void
  /** Ends when the scan in flight is evaluated; resolves to those that were read and are not. */
  stop(): Promise<readonly string[]>
}

/** Most decisions are there sooner: a screen that changes before each of them would only flicker. */
const SOON_MS = 300

/** A door: takes scans in their order, evaluates each with the server or without it, and counts. */
export function createDoor(options: DoorOptions): Door {
  const { client, store, station, clock, onOutcome, onChange } = options
  const { projectId } = station
  const lists = createListKeeper({ ...options, projectId })
  const connection = createConnection({
    ...options,
    onUpload(uploads) {
      for (const { decision, scan, conflict } of uploads) {
        state.counters = amend(state.counters, decision.externalRef, { scanId: scan.id, conflict })
        if (conflict !== null) state.conflicts += 1
      }
      countPending()
    },
    onRejection(decision, error) {
      state.notice = `The server does not take the scan at ${clockTime(decision.scannedAt)}: ${error.message}`
      countPending()
    },
    onError: (error) => {
      state.notice = failureMessage(error)
      onChange()
    },
  })
  const queue = createQueue((names) => {
    state.waiting = names.length
    state.unevaluated = names
    onChange()
  })
  const recent = createRecentScans(options.sameScanMs)
  const undo = createUndo({ client, store, station, clock })
  const state: DoorState = {
    connection,
    lists,
    overrides: options.overrides,
    decision: null,
    isSlow: false,
    counters: noScans,
    waiting: 0,
    unevaluated: [],
    pending: store.pending().length,
    conflicts: 0,
    notice: null,
  }
  if (options.isReached) lists.refresh()
  const refresh = setInterval(() => connection.state === 'online' && lists.refresh(), 1_000)

  function countPending(): void {
    state.pending = store.pending().length
    onChange()
  }

  function conclude(outcome: Outcome): void {
    state.decision = outcome
    state.notice = null
    if (outcome.result !== 'same_scan') state.counters = count(state.counters, outcome, clock().getTime())
    if (outcome.verified === 'offline') countPending()
    onOutcome(outcome)
    onChange()
  }

  /** Takes the decision of whoever came before away where this one is slow to come. */
  async function waitFor(coming: Promise<Outcome>): Promise<Outcome> {
    const timer = setTimeout(() => {
      state.decision = null
      state.isSlow = true
      onChange()
    }, SOON_MS)
    const outcome = await coming
    clearTimeout(timer)
    state.isSlow = false
    return outcome
  }

  async function settle(attempt: Attempt): Promise<Outcome> {
    const outcome = await waitFor(evaluate(attempt, { client, store, connection, lists, station }))
    recent.resolve(attempt, outcome)
    conclude(outcome)
    return outcome
  }

  return {
    state,
    scan(payload) {
      const at = clock()
      const attempt = recent.take({ ...state.overrides, payload, passId: null, externalRef: newId(at), at })
      if ('same' in attempt) {
        conclude(attempt.same)
        return Promise.resolve(attempt.same)
      }
      return queue.push(() => settle(attempt), payload)
    },
    admit(passId) {
      const at = clock()
      const attempt = { ...state.overrides, payload: null, passId, externalRef: newId(at), at }
      return queue.push(() => settle(attempt), passId)
    },
    arm(overrides) {
      state.overrides = { ...state.overrides, ...overrides }
      onChange()
    },
    lastAccepted: () => undo.last(state.counters),
    undo(scan) {
      void queue.push(async () => {
        const outcome = await waitFor(undo.reverse(scan))
        if (outcome.result === 'reversal') recent.forget(scan)
        conclude(outcome)
      }, 'an undo')
    },
    search: (text) => findPasses(text, { client, connection, lists, projectId }),
    notify(text) {
      state.notice = text
      onChange()
    },
    async stop() {
      clearInterval(refresh)
      const left = await queue.stop()
      await Promise.all([connection.stop(), lists.stop()])
      return left
    },
  }
}

interface Queue {
  /** Runs the work when everything before it is done. */
  push<T>(work: () => Promise<T>, name: string): Promise<T>
  /** Lets what runs come to its end and nothing else begin; resolves to the names of what never began. */
  stop(): Promise<readonly string[]>
}

/** One after the other, in their order. `onChange` is told what is not done. */
function createQueue(onChange: (names: string[]) => void): Queue {
  const tasks: { run: () => Promise<void>; name: string }[] = []
  const names = () => tasks.map(({ name }) => name)
  let running: Promise<void> | undefined
  let isStopped = false

  async function run(): Promise<void> {
    while (tasks.length > 0 && !isStopped) {
      await tasks[0]!.run()
      tasks.shift()
      onChange(names())
    }
    running = undefined
  }

  return {
    push: (work, name) =>
      new Promise((resolve, reject) => {
        tasks.push({ run: () => work().then(resolve, reject), name })
        onChange(names())
        running ??= run()
      }),
    async stop() {
      isStopped = true
      await running
      return names()
    },
  }
}

const LIMIT = 20

/** Passes whose name or external id holds a text: of the server, else of the stored list; or why there are none. */
export async function findPasses(
  text: string,
  options: { client: Client; connection: Connection; lists: ListKeeper; projectId: string | undefined },
): Promise<Candidate[] | string> {
  const { client, connection, lists, projectId } = options
  if (connection.state === 'online') {
    const scope = { limit: LIMIT, ...(projectId && { projectId }) }
    const queries = [{ externalPassId: text }, { label: text }, { search: text }]
    const reply = await ask((callOptions) =>
      Promise.all(queries.map((query) => client.passes.list({ query: { ...query, ...scope } }, callOptions))),
    )
    // The token of a door alone may not list passes: the stored list tells what it may see.
    const isForbidden = reply.kind === 'rejection' && reply.error.status === 403 && lists.list !== undefined
    if (reply.kind === 'rejection' && !isForbidden) return failureMessage(reply.error)
    if (reply.kind === 'answer') {
      // What is called exactly so stands first, and may be older than the newest that hold the text.
      const found = new Map(reply.value.flatMap(({ items }) => items).map((pass) => [pass.id, pass]))
      return [...found.values()].slice(0, LIMIT).map((pass) => ({
        passId: pass.id,
        label: pass.label,
        externalPassId: pass.externalPassId,
        templateName: null,
        standing: pass.status === 'ISSUED' ? '' : pass.status.toLowerCase(),
      }))
    }
  }
  return (
    lists.list?.search(text, LIMIT).map(candidateOfItem) ?? 'No answer from the server, and there is no stored list.'
  )
}
