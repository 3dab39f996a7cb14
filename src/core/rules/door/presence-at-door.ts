import type { SnapshotItem } from '../../contract/scans/scanner.ts'
import type { Zone } from '../../contract/scans/zones.ts'
import { isFull } from '../zones/capacity.ts'
import type { Direction, Movement, PresenceFacts } from '../zones/presence.ts'
import type { ListedScan, OwnMovement, OwnScan, ReversedScan } from './own-scans.ts'

/**
 * A zone as a door knows it. `inside` is the last occupancy that the server sent, changed by later movements of the
 * door.
 */
export type ZoneAtDoor = Pick<Zone, 'id' | 'capacity' | 'whenFull' | 'inside' | 'resetAt'>

/** An action of a door that can change the occupancy of a zone: a movement, its reversal, or an adjustment. */
export interface OwnChange {
  kind: 'accepted' | 'reversed' | 'denied' | 'counted'
  movement?: Pick<OwnMovement, 'zoneId' | 'direction' | 'at'> | undefined
  adjustment?: { zoneId: string; delta: number } | undefined
  /** The time of the action. */
  scannedAt: string
}

/** Returns how an action of a door changes the occupancy of a zone. 0 if the zone was reset after the action. */
export function changeAtDoor(
  { kind, movement, adjustment, scannedAt }: OwnChange,
  { id, resetAt }: Pick<ZoneAtDoor, 'id' | 'resetAt'>,
): number {
  const isCounted = (at: string) => resetAt === null || Date.parse(at) > Date.parse(resetAt)
  if (adjustment) return adjustment.zoneId === id && isCounted(scannedAt) ? adjustment.delta : 0
  if (movement?.zoneId !== id || !isCounted(movement.at) || kind === 'denied') return 0
  return (movement.direction === 'in') === (kind === 'accepted') ? 1 : -1
}

interface KnownMovement extends Movement {
  use: Pick<ListedScan, 'scannedAt' | 'scanContextKey'> | null
}

/**
 * Returns the presence of a pass in a zone, from the snapshot and the scans of the door. The server can decide
 * differently, because the door does not know later movements at other doors.
 * @param own scans of the pass that the door accepted, including those in the snapshot
 * @param reversed scans that the door reversed
 */
export function presenceAtDoor(
  item: Pick<SnapshotItem, 'presence'>,
  zone: ZoneAtDoor,
  { own, reversed }: { own: readonly OwnScan[]; reversed: readonly ReversedScan[] },
  { direction, at }: { direction: Direction; at: Date },
): PresenceFacts {
  const movements = movementsOf(item, zone, { own, reversed })
  const previous = movements.findLast((movement) => movement.at <= at) ?? null
  const next = movements.find((movement) => movement.at > at) ?? null
  const entry = movements.findLast((movement) => movement.at <= at && movement.use !== null)
  const use = entry?.use ?? null
  return {
    direction,
    previous,
    next,
    use: use && { ...use, scanId: null, scannedAt: new Date(use.scannedAt), debitedWindow: null },
    isFull: zone.whenFull === 'deny' && isFull(zone),
  }
}

/** Returns the movements of a pass in a zone since the last reset of the zone, oldest first. */
function movementsOf(
  { presence = [] }: Pick<SnapshotItem, 'presence'>,
  { id, resetAt }: Pick<ZoneAtDoor, 'id' | 'resetAt'>,
  { own, reversed }: { own: readonly OwnScan[]; reversed: readonly ReversedScan[] },
): KnownMovement[] {
  const undone = new Set(reversed.map(({ movement, scannedAt }) => Date.parse(movement?.at ?? scannedAt)))
  const since = resetAt === null ? Number.NEGATIVE_INFINITY : Date.parse(resetAt)
  const listed = presence
    .filter(({ zoneId }) => zoneId === id)
    .map(({ direction, at, gate, use }) => ({ direction, at: new Date(at), place: gate ?? undefined, use }))
    .map((movement) => (undone.has(movement.at.getTime()) ? movementBefore(movement) : movement))
  const made = own.flatMap(({ movement, scannedAt, scanContextKey }) => {
    if (movement?.zoneId !== id) return []
    const { direction, at, isReentry } = movement
    const isUse = direction === 'in' && !isReentry
    return { direction, at: new Date(at), use: isUse ? { scannedAt, scanContextKey } : null }
  })
  return [...listed, ...made]
    .filter(({ at }) => at.getTime() > since && !undone.has(at.getTime()))
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
}

/**
 * Reconstructs the movement before a reversed movement, because the snapshot has only the last movement of a pass. The
 * directions of movements alternate. If the reversed movement is an entry that continued an earlier use, the exit
 * before it has the same use.
 */
function movementBefore({ direction, at, use }: KnownMovement): KnownMovement {
  const isOlder = use !== null && Date.parse(use.scannedAt) < at.getTime()
  return {
    direction: direction === 'in' ? 'out' : 'in',
    at: new Date(at.getTime() - 1),
    use: direction === 'out' || isOlder ? use : null,
  }
}
