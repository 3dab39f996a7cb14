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

/** Values that the operator sets for the next scans (F4); `null` uses the clock and the policy. */
export interface Overrides {
  scanContextKey: string | null
  /** YYYY-MM-DD. */
  validityDate: string | null
}

/** The state of a door. */
export interface DoorState {
  readonly connection: Connection
  readonly lists: ListKeeper
  overrides: Overrides
  /** The newest decision; `null` while the next one is slow, so that the operator does not mistake it for the next one. */
  decision: Outcome | null
  /** Whether the current scan is slow enough to show that. */
  isSlow: boolean
  counters: Counters
  /** The number of scans that are not evaluated yet, including the current one. */
  waiting: number
  /** Their payloads, oldest first. */
  unevaluated: readonly string[]
  /** The number of decisions that are not uploaded yet. */
  pending: number
  /** The number of decisions that the server disagreed with. */
  conflicts: number
  notice: string | null
}

export interface DoorOptions {
  client: Client
  store: DoorStore
  /** The folder of the stored list. */
  folder: string
  /** The place that each scan reports: project, device, gate. */
  station: Station
  /** Whether the server has just responded. */
  isReached: boolean
  overrides: Overrides
  clock: () => Date
  /** The time within which the same code counts as the same scan, in milliseconds. 0 for pipes. */
  sameScanMs: number
  /** Called once for each scan and reversal, when it is decided. */
  onOutcome: (outcome: Outcome) => void
  /** Called after each change of the state. */
  onChange: () => void
}

/** The door of the console; see `createDoor`. Never throws: errors become outcomes or notices. */
export interface Door {
  readonly state: DoorState
  /** Scans a payload and resolves to the outcome, which `onOutcome` also receives. */
  scan(payload: string): Promise<Outcome>
  /** Scans a pass that was chosen manually. */
  admit(passId: string): Promise<Outcome>
  /** Sets overrides for the next scan and later ones. */
  arm(overrides: Partial<Overrides>): void
  /** Returns the scan that F3 would reverse. */
  lastAccepted(): Outcome | undefined
  /** Queues the reversal of a scan; `onOutcome` receives the result. */
  undo(scan: Outcome): void
  /** Finds passes by name, or returns the reason why there are none. */
  search(text: string): Promise<Candidate[] | string>
  /** Shows a line until the next outcome; `null` removes it. */
  notify(text: string | null): void
  /** Stops after the current scan; resolves to the payloads that were not evaluated. */
  stop(): Promise<readonly string[]>
}

/** The delay before the previous decision is cleared. Most decisions arrive sooner, so that the screen does not flicker. */
const SOON_MS = 300

/** Creates a door: queues scans, evaluates each online or offline, and counts outcomes. */
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

  /** Clears the previous decision if the next one is slow. */
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
  /** Runs the work after all previous tasks. */
  push<T>(work: () => Promise<T>, name: string): Promise<T>
  /** Finishes the current task and starts no other; resolves to the names of tasks that never started. */
  stop(): Promise<readonly string[]>
}

/** Creates a sequential task queue. `onChange` receives the names of unfinished tasks. */
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

/**
 * Finds passes whose name or external id contains a text, on the server or in the stored list; otherwise returns the
 * reason.
 */
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
    // A door-only token cannot list passes on the server; use the stored list, which it can read.
    const isForbidden = reply.kind === 'rejection' && reply.error.status === 403 && lists.list !== undefined
    if (reply.kind === 'rejection' && !isForbidden) return failureMessage(reply.error)
    if (reply.kind === 'answer') {
      // Put exact matches first: they can be older than the newest partial matches.
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
