import { isPayload } from '../../core/bounds.ts'
import type { ScanResponse } from '../../core/contract/scan-shapes.ts'
import { evaluateOffline } from '../../core/rules/door/evaluate-offline.ts'
import { type Attempt, failedOutcome, type Outcome, outcomeOfResponse } from '../../core/rules/door/outcome.ts'
import { ownScanOf } from '../../core/rules/door/own-scans.ts'
import { createRecentScans } from '../../core/rules/door/recent-readings.ts'
import { reversalMessage } from '../../core/rules/redemption/scan-message.ts'
import { type DoorClock, pause } from './clock.ts'
import type { Connection } from './connection.ts'
import type { DoorEngine, ScanFailure, ScanRequest, Verdict } from './engine.ts'
import type { EngineEnvironment } from './environment.ts'
import type { DoorServer } from './server.ts'
import { type EngineStore, type Identity, type JournalEntry, StorageFullError } from './store.ts'

/** What evaluates scans and takes them back, one after the other. */
export interface Scanner extends Pick<DoorEngine, 'scan' | 'undo'> {
  /** Runs work between two scans. @throws if the scanner was stopped before */
  between<T>(work: () => Promise<T>): Promise<T>
  /** Starts no further scan; resolves after the current one. */
  stop(): Promise<void>
}

/** What the scanner asks of its engine each time, since the door, its list and its store may change between two scans. */
export interface ScannerOptions {
  store: () => EngineStore
  server: DoorServer
  clock: DoorClock
  environment: EngineEnvironment
  /** Undefined where this phone is no door. */
  identity: () => Identity | undefined
  /** Whether there is a list to decide by without the server. */
  hasList: () => boolean
  connection: () => Connection | undefined
  /** How many scans wait for their verdict. */
  onWaiting: (count: number) => void
  /** Something was stored, or could not be since all is full. */
  onStored: (isFull: boolean) => void
}

/** For so long an attempt of which nothing became is asked again under its name: the server may have recorded it. */
const UNRESOLVED_MS = 10 * 60_000
/** An undo waits so long for the server's answer that it stands in the ledger. */
const UNDO_PATIENCE_MS = 2_000

/** Makes the part of an engine that evaluates scans: with the server where it is there, else by the list. */
export function createScanner(options: ScannerOptions): Scanner {
  const { server, clock, environment, identity, connection, onStored } = options
  const { station, sameScanMs, rejectionText } = environment.settings
  const recent = createRecentScans(sameScanMs)
  const { run: between, stop } = createQueue()
  /** References of verdicts that were shown: one that could not be noted as over must not be asked for again. */
  const shown = new Set<string>()
  let waiting = 0

  async function scan(request: ScanRequest): Promise<Verdict> {
    const at = clock.now()
    const asked: Attempt = {
      payload: request.payload ?? null,
      passId: 'passId' in request ? request.passId : null,
      externalRef: environment.newReference(at),
      at,
      scanContextKey: request.scanContextKey ?? null,
      validityDate: request.validityDate ?? null,
    }
    if (!identity()) return failed(asked, 'not_claimed')
    if (asked.passId === null && !isPayload(asked.payload!)) return failed(asked, 'invalid_code')
    // What was chosen by hand is meant, however soon.
    const taken = asked.passId === null ? recent.take(asked) : asked
    if ('same' in taken) return { ...plain(taken.same), failure: null }
    options.onWaiting(++waiting)
    try {
      await connection()?.known()
      const verdict = await between(() => settle(taken)).catch(neverIfStopped)
      if (taken.passId === null) recent.resolve(taken, verdict)
      return verdict
    } finally {
      options.onWaiting(--waiting)
    }
  }

  async function settle(attempt: Attempt): Promise<Verdict> {
    const door = identity()?.door
    if (!door) return failed(attempt, 'not_claimed')
    try {
      const key = JSON.stringify([attempt.payload, attempt.passId, attempt.scanContextKey, attempt.validityDate])
      const named = { ...attempt, externalRef: await nameOf(attempt, key) }
      const online = connection()?.state === 'online' || !options.hasList()
      const decided = online ? await askServer(named, key, door) : undefined
      return decided ?? (await askList(named, key, door))
    } catch (error) {
      if (!(error instanceof StorageFullError)) return failed(attempt, 'failed', (error as Error).message)
      onStored(true)
      return failed(attempt, 'storage_full')
    }
  }

  /** Its reference, on the disk before the server receives it. Where nothing can be stored the server alone may decide. */
  async function nameOf({ externalRef, at }: Attempt, key: string): Promise<string> {
    try {
      const note = { externalRef, at: at.getTime(), notBefore: at.getTime() - UNRESOLVED_MS }
      const name = await options.store().beginAttempt(key, note)
      return shown.has(name) ? externalRef : name
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error
      onStored(true)
      return externalRef
    }
  }

  /** Undefined where it keeps silent. */
  async function askServer(attempt: Attempt, key: string, door: Identity['door']): Promise<Verdict | undefined> {
    const { payload, passId, externalRef, scanContextKey, validityDate } = attempt
    const reply = await server.scan({
      ...(payload !== null && { qrPayload: payload }),
      ...(passId !== null && { passId }),
      ...(scanContextKey !== null && { scanContextKey }),
      ...(validityDate !== null && { validityDate }),
      ...station(door),
      externalRef,
    })
    if (reply.kind === 'timeout') {
      connection()?.lost()
      return undefined
    }
    if (reply.kind === 'rejection') {
      return failed(attempt, identity() ? 'refused' : 'not_claimed', rejectionText(reply))
    }
    const verdict: Verdict = { ...plain(outcomeOfResponse(attempt, reply.value)), failure: null }
    shown.add(attempt.externalRef)
    try {
      await options.store().settle(key, verdict, entryOf(attempt, reply.value, door))
      onStored(false)
    } catch (error) {
      // The server has decided, and recorded it: that stands, whatever this phone can store.
      if (!(error instanceof StorageFullError)) throw error
      onStored(true)
    }
    return verdict
  }

  async function askList(attempt: Attempt, key: string, door: Identity['door']): Promise<Verdict> {
    const digest = attempt.payload === null ? null : await environment.digest(attempt.payload)
    const given = { station: station(door), language: environment.language() }
    const verdict = await options.store().evaluate(key, attempt, digest, (facts) => {
      const { outcome, record } = evaluateOffline(attempt, { ...facts, ...given })
      const entry: JournalEntry = {
        ...ownScanOf(record, undefined),
        externalRef: record.externalRef,
        projectId: door.projectId,
        kind: record.result,
        ...(record.acceptedPassId !== null && { passId: record.acceptedPassId }),
        waits: door.projectId,
        decision: record,
      }
      return { verdict: { ...plain(outcome), failure: null, isPending: true }, entry }
    })
    if (!verdict) return failed(attempt, 'no_list')
    onStored(false)
    // The server came back before this one was stored.
    if (connection()?.state === 'online') connection()?.retry()
    return verdict
  }

  async function undo(verdict: Verdict): Promise<Verdict> {
    const at = clock.now()
    const attempt: Attempt = {
      payload: verdict.payload,
      passId: verdict.passId,
      externalRef: environment.newReference(at),
      at,
      scanContextKey: null,
      validityDate: null,
    }
    options.onWaiting(++waiting)
    try {
      const undone = await between(() => takeBack(verdict, attempt)).catch(neverIfStopped)
      if (undone.failure !== null) return undone
      await Promise.race([connection()?.flush(), pause(UNDO_PATIENCE_MS)])
      // The server may have refused it.
      return (await options.store().verdict(undone.externalRef)) ?? undone
    } finally {
      options.onWaiting(--waiting)
    }
  }

  async function takeBack(shown: Verdict, attempt: Attempt): Promise<Verdict> {
    const door = identity()?.door
    if (!door) return failed(attempt, 'not_claimed')
    const store = options.store()
    try {
      const scan = (await store.verdict(shown.externalRef)) ?? shown
      if (scan.result !== 'accepted' || scan.isUndone || scan.passId === null) return failed(attempt, 'not_undone')
      const { passId, scannedAt, externalRef, scanId } = scan
      const policy = await store.look(passId, ({ matches }) => matches.items[0]!.redemption)
      const message = reversalMessage(new Date(scannedAt), policy ?? null, environment.language())
      const undone: Verdict = {
        ...plain(failedOutcome(attempt, message)),
        label: scan.label,
        externalPassId: scan.externalPassId,
        templateName: scan.templateName,
        result: 'reversal',
        verified: 'offline',
        isPending: true,
        failure: null,
      }
      await store.undo(undone, {
        kind: 'reversed',
        externalRef: attempt.externalRef,
        projectId: door.projectId,
        passId,
        scannedAt,
        scanContextKey: null,
        recordedAt: undefined,
        waits: door.projectId,
        undoes: { externalRef, scanId },
      })
      recent.forget(scan)
      onStored(false)
      return undone
    } catch (error) {
      if (!(error instanceof StorageFullError)) return failed(attempt, 'failed', (error as Error).message)
      onStored(true)
      return failed(attempt, 'storage_full')
    }
  }

  return { scan, undo, between, stop }
}

/** The stored list does not know of it; without the server the pass would be let in again. */
function entryOf(
  { validityDate }: Attempt,
  { result, scan }: ScanResponse,
  { projectId }: Identity['door'],
): JournalEntry | null {
  if (result !== 'accepted' || scan.passId === null) return null
  const { passId, scannedAt, scanContextKey, recordedAt, externalRef } = scan
  const date = validityDate === null ? {} : { validityDate }
  return {
    kind: 'accepted',
    externalRef: externalRef!,
    projectId,
    passId,
    scannedAt,
    scanContextKey,
    ...date,
    recordedAt,
  }
}

function plain(outcome: Outcome): Omit<Verdict, 'failure'> {
  return { ...outcome, isUndone: false, isPending: false }
}

const FAILURES: Record<ScanFailure, string> = {
  storage_full: 'Not evaluated: the storage of this phone is full.',
  no_list: 'No answer from the server, and there is no list to go on with. Scan again.',
  not_claimed: 'This phone is no door.',
  invalid_code: 'This is no code of a pass: it is too long, or garbled.',
  refused: 'The server refused it.',
  not_undone: 'This scan cannot be taken back.',
  of_another: 'Another door let them in: whoever runs the doors takes it back.',
  failed: 'Not evaluated.',
}

function failed(attempt: Attempt, failure: ScanFailure, message = FAILURES[failure]): Verdict {
  return { ...plain(failedOutcome(attempt, message)), failure }
}

/** Runs tasks one after another, in their order, until it is stopped. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve()
  let isStopped = false
  return {
    run<T>(work: () => Promise<T>): Promise<T> {
      const result = last.then(() => {
        if (isStopped) throw new StoppedError('The engine was stopped')
        return work()
      })
      last = result.catch(() => undefined)
      return result
    },
    async stop(): Promise<void> {
      isStopped = true
      await last
    },
  }
}

class StoppedError extends Error {
  override readonly name = 'StoppedError'
}

/** Keeps the promise of a task open that was never run, because nothing became of it. */
function neverIfStopped(error: unknown): Promise<never> {
  if (error instanceof StoppedError) return new Promise(() => undefined)
  throw error
}
