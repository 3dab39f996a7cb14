import type { ScanZone } from '../../../core/contract/schemas/scan-shapes.ts'
import { ApiError } from '../../../core/errors.ts'
import { groupBy } from '../../../core/group-by.ts'
import type { ScanDecision } from '../../../core/rules/redemption/scan-decision.ts'
import { isFull } from '../../../core/rules/zones/capacity.ts'
import { type Direction, insertedDeltas, type PresenceFacts } from '../../../core/rules/zones/presence.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { FoundMovements, NewMovement } from '../../../storage/zones/movements-repository.ts'
import type { StoredZone } from '../../../storage/zones/zones-repository.ts'
import type { RequestContext } from '../../context.ts'
import { writeCapacityAlerts } from '../zones/capacity-alerts.ts'
import { type Attempt, type DecidedScan, namedPass, type ZoneAttempt } from './attempt.ts'

/** Thrown if a zone was reset or changed after it was read. The scans must then be evaluated again. */
class ZoneChangedError extends Error {}

/** The maximum number of runs of a transaction. Only a zone that changes constantly needs more. */
const MAX_TRIES = 10

export async function retryChangedZones<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof ZoneChangedError) || tries === MAX_TRIES) throw error
    }
  }
}

function zonesOf(attempts: Attempt[]): string[] {
  return [...new Set(attempts.flatMap(({ zoneId }) => zoneId ?? []))]
}

/**
 * Locks the passes and zones of all attempts of a transaction before its first round (see `roundsOf`). If each round
 * locked its own zones, two transactions could lock the same zones in opposite orders, which is a deadlock.
 */
export async function lockForRounds(tx: Repositories, workspaceId: string, attempts: Attempt[]): Promise<void> {
  const zoneIds = zonesOf(attempts)
  if (zoneIds.length < 2) return
  const passIds = new Set(attempts.flatMap((attempt) => namedPass(attempt) ?? []))
  await Promise.all([
    tx.passes.listForUpdate(workspaceId, [...passIds]),
    tx.zones.lock(workspaceId, zoneIds, ['deny', 'warn']),
  ])
}

/**
 * Reads the zones of attempts, and the neighboring movements of their passes. Locks zones that deny entry when they are
 * full, so that no concurrent scan fills the last place. Other zones are locked later, when their number of people
 * changes. Call this function after the statement that locks the passes, in the same round trip.
 */
export async function readZones(
  tx: Repositories,
  workspaceId: string,
  attempts: Attempt[],
): Promise<Map<Attempt, ZoneAttempt | ApiError>> {
  const moving = attempts.filter(({ zoneId }) => zoneId !== undefined)
  if (moving.length === 0) return new Map()
  const ids = zonesOf(moving)
  const named = moving.filter((attempt) => namedPass(attempt) !== undefined)
  const asked = named.map((one) => ({ zoneId: one.zoneId!, passId: namedPass(one)!, at: one.realTime }))
  const [, zones, movements] = await Promise.all([
    tx.zones.lock(workspaceId, ids, ['deny']),
    tx.zones.listByIds(workspaceId, ids),
    tx.movements.listAround(workspaceId, asked),
  ])
  const byId = new Map(zones.map((zone) => [zone.id, zone]))
  const around = new Map(named.map((attempt, n) => [attempt, movements[n]!]))
  return new Map<Attempt, ZoneAttempt | ApiError>(
    moving.map((attempt) => {
      const zone = byId.get(attempt.zoneId!)
      const { projectId, direction = 'in', result } = attempt
      // Accept a deleted zone for an offline scan: the device can have scanned before the deletion.
      const isKnown = zone && (zone.deletedAt === null || result !== undefined)
      if (!isKnown || (projectId !== undefined && projectId !== zone.projectId))
        return [attempt, noZone(attempt.zoneId!)]
      return [attempt, { zone, direction, around: around.get(attempt) }]
    }),
  )
}

export function noZone(zoneId: string): ApiError {
  return new ApiError('NOT_FOUND', { message: 'Zone not found.', details: { zoneId } })
}

/** Returns the zone of an attempt, or an error if the zone is unknown or not in the project of the pass. */
export function movementOfPass(
  found: ZoneAttempt | ApiError | undefined,
  pass: StoredPass | null,
  { projectId }: Attempt,
): ZoneAttempt | ApiError | undefined {
  if (!found || found instanceof ApiError || projectId !== undefined || !pass) return found
  return pass.projectId === found.zone.projectId ? found : noZone(found.zone.id)
}

/** Creates a count of the movements of attempts, so that each decision includes the movements of earlier attempts. */
export function createPlaces() {
  const taken = new Map<string, number>()
  return {
    /** Returns the facts for the decision on a movement; undefined for an attempt without a zone or a pass. */
    factsOf(found: ZoneAttempt | undefined): PresenceFacts | undefined {
      if (!found?.around) return undefined
      const { zone, direction, around } = found
      const inside = zone.inside + (taken.get(zone.id) ?? 0)
      const denies = zone.whenFull === 'deny' && zone.deletedAt === null
      const { previous, next, use } = around
      return { direction, previous, next, use, isFull: denies && isFull({ inside, capacity: zone.capacity }) }
    },
    take(found: ZoneAttempt | undefined, { result }: Pick<ScanDecision, 'result'>, attempt: Attempt): void {
      if (!found?.around || (attempt.result ?? result) !== 'accepted') return
      const { zone, direction, around } = found
      taken.set(zone.id, (taken.get(zone.id) ?? 0) + changeOf(zone, direction, around))
    },
  }
}

/** Returns the change in the number of people inside; 0 for a movement before the last reset. */
function changeOf(zone: StoredZone, direction: Direction, { segment, previous, next }: FoundMovements): number {
  return segment === zone.segment ? insertedDeltas(previous, { direction }, next).total : 0
}

/**
 * Records the movements of accepted scans. Returns the state of the zone after each scan with a zone.
 * @throws ZoneChangedError if a zone was changed since `readZones`
 */
export async function writeMovements(
  tx: Repositories,
  workspaceId: string,
  written: DecidedScan[],
): Promise<Map<DecidedScan, ScanZone>> {
  const states = new Map<DecidedScan, ScanZone>()
  const inZones = written.filter(({ decision: { movement } }) => movement && movement.zone.deletedAt === null)
  // Sort the zones. Otherwise, two transactions could lock zones in opposite orders and wait for each other.
  const groups = [...groupBy(inZones, ({ decision }) => decision.movement!.zone.id)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )
  for (const [, scans] of groups) {
    const { zone } = scans[0]!.decision.movement!
    const movements = scans.map(toMovement)
    const made = movements.filter((movement) => movement !== undefined)
    const changes = movements.map((movement) => (movement ? changeOf(zone, movement.direction, movement.around) : 0))
    const total = changes.reduce((sum, change) => sum + change, 0)
    // Lock the zone before the movements are written. A reset uses the same order, to avoid deadlocks.
    const after = made.length > 0 ? await tx.zones.add(workspaceId, zone, total) : zone
    if (!after) throw new ZoneChangedError('A zone was changed in the meantime')
    await tx.movements.insert(workspaceId, made)
    let inside = after.inside - total
    const steps = scans.map((one, n) => {
      inside += changes[n]!
      states.set(one, toScanZone({ ...after, inside }))
      return { inside, correlationId: one.correlationId, at: one.scan.recordedAt }
    })
    if (made.length > 0) await writeCapacityAlerts(tx, workspaceId, after, steps)
  }
  return states
}

function toMovement({ scan, decision }: DecidedScan): NewMovement | undefined {
  const { movement, pass, debit, realTime } = decision
  if (scan.result !== 'accepted' || !pass || !movement?.around) return undefined
  const { zone, direction, around } = movement
  const useScanId = debit ? scan.id : scan.useScanId
  return { scanId: scan.id, zoneId: zone.id, passId: pass.id, at: realTime, direction, around, useScanId }
}

/**
 * Removes the movement of a reversed scan, and its effect on the number of people inside.
 * @param zone the locked zone; undefined if it was deleted
 */
export async function reverseMovement(
  tx: Repositories,
  scan: StoredScan,
  zone: StoredZone | undefined,
  { workspaceId, correlationId, now }: RequestContext,
): Promise<void> {
  const removed = await tx.movements.remove(workspaceId, scan.id)
  if (!zone || removed?.segment !== zone.segment || removed.delta === 0) return
  const after = (await tx.zones.add(workspaceId, zone, removed.delta))!
  await writeCapacityAlerts(tx, workspaceId, after, [{ inside: after.inside, correlationId, at: now }])
}

export function toScanZone({ id, name, inside, capacity }: StoredZone): ScanZone {
  return { id, name, inside, capacity }
}
