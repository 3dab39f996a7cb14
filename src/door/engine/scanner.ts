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
import type { Decision, DoorEngine, KnownZone, ScanFailure, ScanOptions, ScanRequest } from './engine.ts'
import { neverIfStopped } from './queue.ts'
import type { EngineContext } from './server.ts'
import type { Identity, JournalEntry, ScannedCode } from './store/engine-store.ts'

/**
 * The period, in milliseconds, during which an attempt without a result is retried with the same reference, because the
 * server may have recorded the attempt.
 */
const UNRESOLVED_MS = 10 * 60_000
const UNDO_TIMEOUT_MS = 2_000

/**
 * Creates the part of an engine that evaluates and reverses scans, one at a time: with the server, or with the list if
 * the server is not reachable.
 * @param endZone called if the zone of a scan was deleted
 */
export function createScanner(
  {
    store,
    server,
    clock,
    environment,
    identity,
    connection,
    stored,
    between,
    onStored,
    unlessFull,
    tryToStore,
  }: EngineContext,
  endZone: (zoneId: string) => Promise<void>,
): Pick<DoorEngine, 'scan' | 'scanAll' | 'undo'> {
  const { station, sameScanMs, rejectionText } = environment.settings
  const recent = createRecentScans(sameScanMs, environment.language)
  /** The references of decisions that were shown but could not be stored. Their attempts must not be retried. */
  const shown = new Set<string>()

  /** Creates an attempt at the current time, with a new reference. */
  function createAttempt(
    target: ScanOptions & { payload?: string | null | undefined; passId?: string | null | undefined },
  ): Attempt {
    const { payload = null, passId = null, scanContextKey = null, validityDate = null } = target
    const at = clock.now()
    return { payload, passId, externalRef: environment.newReference(at), at, scanContextKey, validityDate }
  }

  async function scan(request: ScanRequest): Promise<Decision> {
    const attempt: Attempt = { ...createAttempt(request), movement: identity()?.door.movement }
    if (!identity()) return failed(attempt, 'not_claimed')
    if (attempt.passId === null && !isPayload(attempt.payload!)) return failed(attempt, 'invalid_code')
    // Do not treat a manual selection as a repeated reading of the same code: a manual selection is always intended.
    const taken = attempt.passId === null ? recent.take(attempt) : attempt
    if ('same' in taken) return { ...plain(taken.same), failure: null }
    await connection()?.known()
    const decision = await inTurn(taken, (door) => decide(taken, door))
    if (taken.passId === null) recent.resolve(taken, decision)
    return decision
  }

  /** Runs work after all earlier attempts. An error becomes the decision on the attempt. */
  function inTurn(attempt: Attempt, work: (door: Identity['door']) => Promise<Decision>): Promise<Decision> {
    const run = async () => {
      const door = identity()?.door
      if (!door) return failed(attempt, 'not_claimed')
      try {
        return await unlessFull(() => work(door), failed(attempt, 'storage_full'))
      } catch (error) {
        return failed(attempt, 'failed', (error as Error).message)
      }
    }
    return between(run).catch(neverIfStopped)
  }

  async function decide(attempt: Attempt, door: Identity['door']): Promise<Decision> {
    const { payload, passId, scanContextKey, validityDate, movement } = attempt
    if (movement && movement.zoneId === identity()!.deletedExit) return failed(attempt, 'exit_deleted')
    const key = JSON.stringify([payload, passId, scanContextKey, validityDate, movement])
    const named = { ...attempt, externalRef: await nameOf(attempt, key) }
    const isOnline = connection()?.state === 'online' || stored().list === null
    const decided = isOnline ? await askServer(named, door) : undefined
    return decided ?? (await askList(named, door))
  }

  /**
   * Returns the reference of an attempt. Stores it before the server receives the attempt, so that a retry uses the
   * same reference. If storage is full, returns the reference without storing it: the server can still decide, but an
   * offline decision fails, because it must be stored, too.
   */
  async function nameOf({ externalRef, at }: Attempt, key: string): Promise<string> {
    const { runner } = environment
    const isRunning = await environment.findRunning()
    const begin = () =>
      store().beginAttempt(
        { key, externalRef, at: at.getTime(), runner },
        {
          notBefore: at.getTime() - UNRESOLVED_MS,
          // Do not resume an attempt of another tab or process that still runs: that attempt belongs to another guest.
          canResume: (begun) => !shown.has(begun.externalRef) && (begun.runner === runner || !isRunning(begun.runner)),
        },
      )
    return unlessFull(begin, externalRef)
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
      await endZone(movement.zoneId)
      if (movement.direction === 'out') return failed(attempt, 'exit_deleted')
      return askServer({ ...attempt, movement: undefined }, door)
    }
    if (reply.kind === 'rejection') {
      return failed(attempt, identity() ? 'refused' : 'not_claimed', rejectionText(reply))
    }
    const outcome = outcomeOfResponse(attempt, reply.value)
    const isZoneFull = deniesWhenFull(outcome.zone) && outcome.reasonCode === 'quota_exhausted'
    const decision: Decision = { ...plain(outcome), ...(isZoneFull && { isZoneFull }), failure: null }
    const settle = async () => {
      await store().settle(decision, entryOf(attempt, reply.value, door))
      onStored()
    }
    // Show the decision even if the storage is full, because the server has recorded the decision.
    if (!(await tryToStore(settle))) shown.add(attempt.externalRef)
    return decision
  }

  /** Whether a zone in a response is full and denies entry. */
  function deniesWhenFull(zone: ScanZone | undefined): boolean {
    const known = stored().zones.find(({ id }) => id === zone?.id)
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
        ...ownScanOf(record),
        externalRef: record.externalRef,
        projectId: door.projectId,
        kind: record.result,
        passId: record.acceptedPassId ?? undefined,
        waits: door.projectId,
        decision: record,
      }
      const zone = facts.zones.find(({ id }) => id === movement?.zoneId)
      const after = zone && toScanZone(zone, changeAtDoor(entry, zone))
      const decision = { ...plain(outcome), ...(after && { zone: after }), failure: null, isPending: true }
      return { decision, entry }
    })
    if (!decision) return failed(attempt, 'no_list')
    onStored()
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
    const { payload, passId } = decision
    const attempt = createAttempt({ payload, passId })
    const undone = await inTurn(attempt, (door) => reverse(decision, attempt, door))
    if (undone.failure !== null) return undone
    await Promise.race([connection()?.flush(), pause(UNDO_TIMEOUT_MS)])
    // Return the stored decision, because the server may have rejected the reversal.
    return (await store().decision(undone.externalRef)) ?? undone
  }

  async function reverse(shown: Decision, attempt: Attempt, { projectId }: Identity['door']): Promise<Decision> {
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
      projectId,
      passId,
      scannedAt,
      scanContextKey: null,
      recordedAt: undefined,
      waits: projectId,
      undoes: { externalRef, scanId },
      ...(movement && { movement }),
    })
    recent.forget(scan)
    onStored()
    return undone
  }

  return {
    scan,
    scanAll: (passIds) => Promise.all(passIds.map((passId) => scan({ passId, method: 'chosen' }))),
    undo,
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

function toScanZone({ id, name, inside, capacity }: KnownZone, change: number): ScanZone {
  return { id, name, inside: inside + change, capacity }
}

function plain(outcome: Outcome): Omit<Decision, 'failure'> {
  return { ...outcome, isUndone: false, isPending: false }
}

function failed(attempt: Attempt, failure: ScanFailure, message = ''): Decision {
  return { ...plain(failedOutcome(attempt, message)), failure }
}
