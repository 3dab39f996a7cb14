import { otherReadings } from '../../core/barcode-formats.ts'
import { isPayload } from '../../core/bounds.ts'
import type { ScanResponse, ScanZone } from '../../core/contract/schemas/scan-shapes.ts'
import { evaluateOffline } from '../../core/rules/door/evaluate-offline.ts'
import { type Attempt, failedOutcome, type Outcome, outcomeOfResponse } from '../../core/rules/door/outcome.ts'
import { type OwnMovement, ownScanOf } from '../../core/rules/door/own-scans.ts'
import { changeAtDoor } from '../../core/rules/door/presence-at-door.ts'
import { createRecentScans } from '../../core/rules/door/recent-readings.ts'
import { reversalMessage } from '../../core/rules/redemption/scan-message.ts'
import { isFull } from '../../core/rules/zones/capacity.ts'
import { pause } from './clock.ts'
import type { Connection } from './connection.ts'
import type { Decision, DoorEngine, KnownZone, ScanFailure, ScanRequest } from './engine.ts'
import { createQueue, neverIfStopped } from './queue.ts'
import type { EngineContext } from './server.ts'
import { type Identity, type JournalEntry, type ScannedCode, StorageFullError } from './store/engine-store.ts'

/** Evaluates and reverses scans, one at a time: with the server, or with the list if the server is not reachable. */
export interface Scanner extends Pick<DoorEngine, 'scan' | 'scanAll' | 'undo'> {
  /** Runs work between two scans. @throws if the scanner was stopped before */
  between<T>(work: () => Promise<T>): Promise<T>
  /** Starts no further scan. Resolves after the current scan. */
  stopScanning(): Promise<void>
}

export interface ScannerOptions {
  hasList: () => boolean
  connection: () => Connection | undefined
  zones: () => readonly KnownZone[]
  /** Called if the zone of a scan was deleted. */
  endZone: (zoneId: string) => Promise<void>
  /** Called with the number of scans that wait for a decision. */
  onWaiting: (count: number) => void
  /** Called after data was stored (`false`), or could not be stored because storage is full (`true`). */
  onStored: (isFull: boolean) => void
}

/**
 * The period, in milliseconds, during which an attempt without a result is retried with the same reference, because the
 * server may have recorded the attempt.
 */
const UNRESOLVED_MS = 10 * 60_000
const UNDO_TIMEOUT_MS = 2_000

export function createScanner(
  { store, server, clock, environment, identity }: EngineContext,
  options: ScannerOptions,
): Scanner {
  const { connection, onStored } = options
  const { station, sameScanMs, rejectionText } = environment.settings
  const recent = createRecentScans(sameScanMs)
  const { run: between, stop } = createQueue()
  /** The references of decisions that were shown but could not be stored. Their attempts must not be retried. */
  const shown = new Set<string>()
  let waiting = 0

  async function scan(request: ScanRequest): Promise<Decision> {
    const at = clock.now()
    const attempt: Attempt = {
      payload: request.payload ?? null,
      passId: 'passId' in request ? request.passId : null,
      externalRef: environment.newReference(at),
      at,
      scanContextKey: request.scanContextKey ?? null,
      validityDate: request.validityDate ?? null,
      movement: identity()?.door.movement,
    }
    if (!identity()) return failed(attempt, 'not_claimed')
    if (attempt.passId === null && !isPayload(attempt.payload!)) return failed(attempt, 'invalid_code')
    // Do not treat a manual selection as a repeated reading of the same code: a manual selection is always intended.
    const taken = attempt.passId === null ? recent.take(attempt) : attempt
    if ('same' in taken) return { ...plain(taken.same), failure: null }
    options.onWaiting(++waiting)
    try {
      await connection()?.known()
      const decision = await between(() => settle(taken)).catch(neverIfStopped)
      if (taken.passId === null) recent.resolve(taken, decision)
      return decision
    } finally {
      options.onWaiting(--waiting)
    }
  }

  async function settle(attempt: Attempt): Promise<Decision> {
    const door = identity()?.door
    if (!door) return failed(attempt, 'not_claimed')
    try {
      const { payload, passId, scanContextKey, validityDate, movement } = attempt
      if (movement && movement.zoneId === identity()!.deletedExit) return failed(attempt, 'exit_deleted')
      const key = JSON.stringify([payload, passId, scanContextKey, validityDate, movement])
      const named = { ...attempt, externalRef: await nameOf(attempt, key) }
      const online = connection()?.state === 'online' || !options.hasList()
      const decided = online ? await askServer(named, door) : undefined
      return decided ?? (await askList(named, door))
    } catch (error) {
      if (!(error instanceof StorageFullError)) return failed(attempt, 'failed', (error as Error).message)
      onStored(true)
      return failed(attempt, 'storage_full')
    }
  }

  /**
   * Returns the reference of an attempt. Stores it before the server receives the attempt, so that a retry uses the
   * same reference. If storage is full, returns the reference without storing it: the server can still decide, but an
   * offline decision fails, because it must be stored, too.
   */
  async function nameOf({ externalRef, at }: Attempt, key: string): Promise<string> {
    const { runner } = environment
    try {
      const isRunning = await environment.findRunning()
      return await store().beginAttempt(
        { key, externalRef, at: at.getTime(), runner },
        {
          notBefore: at.getTime() - UNRESOLVED_MS,
          // Do not resume an attempt of another tab or process that still runs: that attempt belongs to another guest.
          canResume: (begun) => !shown.has(begun.externalRef) && (begun.runner === runner || !isRunning(begun.runner)),
        },
      )
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error
      onStored(true)
      return externalRef
    }
  }

  /** Asks the server for a decision. Returns `undefined` on a timeout. */
  async function askServer(attempt: Attempt, door: Identity['door']): Promise<Decision | undefined> {
    const { payload, passId, externalRef, scanContextKey, validityDate, movement } = attempt
    const reply = await server.scan({
      ...(payload !== null && { qrPayload: payload }),
      ...(passId !== null && { passId }),
      ...(scanContextKey !== null && { scanContextKey }),
      ...(validityDate !== null && { validityDate }),
      ...movement,
      ...station(door),
      externalRef,
    })
    if (reply.kind === 'timeout') {
      connection()?.lost()
      return undefined
    }
    // The zone was deleted, so the server recorded nothing. At an entrance, where people must not be stopped, scan
    // again without the zone. Check the status, because errors of this endpoint have no code.
    if (movement && reply.kind === 'rejection' && reply.status === 404) {
      await options.endZone(movement.zoneId)
      if (movement.direction === 'out') return failed(attempt, 'exit_deleted')
      return askServer({ ...attempt, movement: undefined }, door)
    }
    if (reply.kind === 'rejection') {
      return failed(attempt, identity() ? 'refused' : 'not_claimed', rejectionText(reply))
    }
    const outcome = outcomeOfResponse(attempt, reply.value)
    const isZoneFull = deniesWhenFull(outcome.zone) && outcome.reasonCode === 'quota_exhausted'
    const decision: Decision = { ...plain(outcome), ...(isZoneFull && { isZoneFull }), failure: null }
    try {
      await store().settle(decision, entryOf(attempt, reply.value, door))
      onStored(false)
    } catch (error) {
      // Show the decision even if the storage is full, because the server has recorded the decision.
      if (!(error instanceof StorageFullError)) throw error
      shown.add(attempt.externalRef)
      onStored(true)
    }
    return decision
  }

  /** Whether a zone in a response is full and denies entry. */
  function deniesWhenFull(zone: ScanZone | undefined): boolean {
    const known = options.zones().find(({ id }) => id === zone?.id)
    return zone !== undefined && known?.whenFull === 'deny' && isFull(zone)
  }

  async function askList(attempt: Attempt, door: Identity['door']): Promise<Decision> {
    const code = attempt.payload === null ? null : await codeOf(attempt.payload)
    const given = { station: station(door), language: environment.language() }
    const decision = await store().evaluate(attempt, code, (facts) => {
      const { movement, at } = attempt
      const presenceOf = movement && facts.presenceIn(movement, at)
      const { outcome, record } = evaluateOffline(attempt, { ...facts, presenceOf, ...given })
      const entry: JournalEntry = {
        ...ownScanOf(record, undefined),
        externalRef: record.externalRef,
        projectId: door.projectId,
        kind: record.result,
        passId: record.acceptedPassId ?? undefined,
        waits: door.projectId,
        decision: record,
      }
      const zone = facts.zones.find(({ id }) => id === movement?.zoneId)
      const shown = zone && { ...toScanZone(zone), inside: zone.inside + changeAtDoor(entry, zone) }
      const decision = { ...plain(outcome), ...(shown && { zone: shown }), failure: null, isPending: true }
      return { decision, entry }
    })
    if (!decision) return failed(attempt, 'no_list')
    onStored(false)
    // If the server became reachable in the meantime, upload now, so that the upload does not wait for a probe.
    if (connection()?.state === 'online') connection()?.retry()
    return decision
  }

  async function codeOf(payload: string): Promise<ScannedCode> {
    const others = otherReadings(payload).map(async ({ format, message }) => {
      return { format, digest: await environment.digest(message) }
    })
    return { digest: await environment.digest(payload), others: await Promise.all(others) }
  }

  async function undo(decision: Decision): Promise<Decision> {
    const at = clock.now()
    const attempt: Attempt = {
      payload: decision.payload,
      passId: decision.passId,
      externalRef: environment.newReference(at),
      at,
      scanContextKey: null,
      validityDate: null,
    }
    options.onWaiting(++waiting)
    try {
      const undone = await between(() => takeBack(decision, attempt)).catch(neverIfStopped)
      if (undone.failure !== null) return undone
      await Promise.race([connection()?.flush(), pause(UNDO_TIMEOUT_MS)])
      // Return the stored decision, because the server may have rejected the reversal.
      return (await store().decision(undone.externalRef)) ?? undone
    } finally {
      options.onWaiting(--waiting)
    }
  }

  async function takeBack(shown: Decision, attempt: Attempt): Promise<Decision> {
    const door = identity()?.door
    if (!door) return failed(attempt, 'not_claimed')
    try {
      const scan = (await store().decision(shown.externalRef)) ?? shown
      if (scan.result !== 'accepted' || scan.isUndone || scan.passId === null) return failed(attempt, 'not_undone')
      const { passId, scannedAt, externalRef, scanId, zoneId, direction = 'in' } = scan
      const movement = zoneId === undefined ? undefined : { zoneId, direction, at: scannedAt, isReentry: false }
      const policy = await store().look(passId, ({ matches }) => matches.items[0]!.redemption)
      const message = reversalMessage(new Date(scannedAt), policy ?? null, environment.language())
      const undone: Decision = {
        ...plain(failedOutcome(attempt, message)),
        label: scan.label,
        externalPassId: scan.externalPassId,
        templateName: scan.templateName,
        result: 'reversal',
        verified: 'offline',
        isPending: true,
        failure: null,
      }
      await store().undo(undone, {
        kind: 'reversed',
        externalRef: attempt.externalRef,
        projectId: door.projectId,
        passId,
        scannedAt,
        scanContextKey: null,
        recordedAt: undefined,
        waits: door.projectId,
        undoes: { externalRef, scanId },
        ...(movement && { movement }),
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

  return {
    scan,
    scanAll: (passIds, options) => Promise.all(passIds.map((passId) => scan({ ...options, passId, method: 'chosen' }))),
    undo,
    between,
    stopScanning: stop,
  }
}

/**
 * Returns the journal entry of a scan that the server accepted; null for other scans. The stored list lacks the scan,
 * so without the entry, the pass would be admitted again offline.
 */
function entryOf(
  { validityDate }: Attempt,
  response: ScanResponse,
  { projectId }: Identity['door'],
): JournalEntry | null {
  const { result, scan } = response
  if (result !== 'accepted' || scan.passId === null) return null
  const { passId, scannedAt, scanContextKey, recordedAt, externalRef } = scan
  const movement = movementOf(response, validityDate)
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
    ...(movement && { movement }),
  }
}

/**
 * Returns the movement of an accepted scan; `undefined` without a zone. An entry is a re-entry if the scan did not
 * change the number of uses.
 */
function movementOf(
  { scan, pass, priorScanCount }: ScanResponse,
  validityDate: string | null,
): OwnMovement | undefined {
  const { zoneId, direction = 'in', scannedAt, recordedAt } = scan
  if (zoneId === undefined) return undefined
  const isReentry = direction === 'in' && pass?.acceptedScanCount === priorScanCount
  return { zoneId, direction, at: validityDate === null ? scannedAt : recordedAt, isReentry }
}

function toScanZone({ id, name, inside, capacity }: KnownZone): ScanZone {
  return { id, name, inside, capacity }
}

function plain(outcome: Outcome): Omit<Decision, 'failure'> {
  return { ...outcome, isUndone: false, isPending: false }
}

function failed(attempt: Attempt, failure: ScanFailure, message = ''): Decision {
  return { ...plain(failedOutcome(attempt, message)), failure }
}
