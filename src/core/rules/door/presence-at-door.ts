import type { SnapshotItem } from '../../contract/scanner.ts'
import type { Zone } from '../../contract/zones.ts'
import { isFull } from '../zones/capacity.ts'
import type { Direction, Movement, PresenceFacts } from '../zones/presence.ts'
import type { ListedScan, OwnScan, ReversedScan } from './own-scans.ts'

/**
 * A zone as a door knows it: `inside` is the number in the last list or response, plus the movements of the door since
 * then.
 */
export type ZoneAtDoor = Pick<Zone, 'id' | 'capacity' | 'whenFull' | 'inside' | 'resetAt'>

interface KnownMovement extends Movement {
  use: Pick<ListedScan, 'scannedAt' | 'scanContextKey'> | null
}

/**
 * Returns the facts about a pass in a zone, from the list and from the scans of the door. The door does not know newer
 * movements at other doors, so the server can decide differently.
 * @param own scans of the pass that the door accepted, including those in the list
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

/** Returns the movements of a pass since the last reset of the zone, oldest first. */
function movementsOf(
  { presence = [] }: Pick<SnapshotItem, 'presence'>,
  { id, resetAt }: Pick<ZoneAtDoor, 'id' | 'resetAt'>,
  { own, reversed }: { own: readonly OwnScan[]; reversed: readonly ReversedScan[] },
): KnownMovement[] {
  const undone = new Set(reversed.map(({ scannedAt }) => Date.parse(scannedAt)))
  const since = resetAt === null ? Number.NEGATIVE_INFINITY : Date.parse(resetAt)
  const listed = presence
    .filter(({ zoneId }) => zoneId === id)
    .map(({ direction, at, gate, use }) => ({ direction, at: new Date(at), place: gate ?? undefined, use }))
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
