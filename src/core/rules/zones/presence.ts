import type { PlacedAttempt, RedemptionPlan } from '../redemption/redemption-plan.ts'
import { contains } from '../redemption/redemption-windows.ts'

export const directions = ['in', 'out'] as const
export type Direction = (typeof directions)[number]

/** A movement of a pass in a zone: an accepted scan that was not reversed. */
export interface Movement {
  direction: Direction
  at: Date
  /** The gate, lane, and location, or the device; undefined if unknown. */
  place?: string | undefined
}

/** The use that an entry debited from a pass. */
export interface MovementUse {
  scanId: string | null
  scannedAt: Date
  scanContextKey: string | null
  /** The key of the debited window, if several windows contained the time. */
  debitedWindow: string | null
}

/**
 * The facts about a pass in a zone at the time of an attempt. Movements before the last reset of the zone or after its
 * next reset do not count.
 */
export interface PresenceFacts {
  direction: Direction
  /** The last movement at or before the time of the attempt. */
  previous: Movement | null
  /** The first movement after the attempt; `null` unless the attempt is reported late or a device has a wrong clock. */
  next: Movement | null
  /** The use of the last entry before the attempt: the debited use or, for a re-entry, the continued use. */
  use: MovementUse | null
  /** Whether the zone denies entry because it is full. */
  isFull: boolean
}

export type PresenceDecision = 'possible' | 'already_inside' | 'not_inside'

/** Decides whether a movement is possible: the entries and exits of a pass must alternate. */
export function evaluatePresence({ direction, previous, next }: PresenceFacts): PresenceDecision {
  const side = previous?.direction ?? 'out'
  if (side !== direction && next?.direction !== direction) return 'possible'
  return direction === 'in' ? 'already_inside' : 'not_inside'
}

/**
 * Returns the placement of an entry that debits no use, because the last entry debited a use in the same window and
 * period. Without windows and periods, that use must have the same scan context. Returns `undefined` for other entries.
 */
export function coveredPlace(
  { places, scanContextKey }: RedemptionPlan,
  { previous, use }: Pick<PresenceFacts, 'previous' | 'use'>,
): PlacedAttempt | undefined {
  if (previous?.direction !== 'out' || !use) return undefined
  return places.find(({ policy, windows, period }) => {
    if (period && !contains(period, use.scannedAt)) return false
    if (!policy?.windows) return period !== null || use.scanContextKey === scanContextKey
    return windows.some((window) =>
      use.debitedWindow === null ? contains(window, use.scannedAt) : window.key === use.debitedWindow,
    )
  })
}

/** Returns 1 if the pass is inside after a movement, else 0. Without a movement, the pass is outside. */
function countOf(movement: Pick<Movement, 'direction'> | null): 0 | 1 {
  return movement?.direction === 'in' ? 1 : 0
}

type Side = Pick<Movement, 'direction'> | null

export interface MovementDeltas {
  /** The change of the number of people inside, at the time of this movement. */
  own: number
  /** The change of the number of people inside, at the time of the next movement of the pass. */
  next: number
  /** The change of the number of people inside after all movements of the pass. */
  total: number
}

/**
 * Returns how inserting a movement between `previous` and `next` changes the number of people inside. `own` is 0 if the
 * movement has the direction of the previous one.
 */
export function insertedDeltas(previous: Side, movement: Side, next: Side): MovementDeltas {
  const own = countOf(movement) - countOf(previous)
  return { own, next: countOf(next) - countOf(movement), total: next ? 0 : own }
}

export function removedDeltas(previous: Side, movement: Side, next: Side): Omit<MovementDeltas, 'own'> {
  return { next: countOf(next) - countOf(previous), total: next ? 0 : countOf(previous) - countOf(movement) }
}
