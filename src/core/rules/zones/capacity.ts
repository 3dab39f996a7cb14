/** The thresholds of the event `zone.capacity`, in percent of the capacity, and the lower bounds that re-arm them. */
const THRESHOLDS = [
  { percent: 80, rearmedBelow: 75 },
  { percent: 100, rearmedBelow: 95 },
] as const

/** The highest threshold that the occupancy has reached and that is not re-armed; 0 if there is none. */
export type AlertLevel = 0 | 80 | 100

/** Returns the level after a change of the occupancy, and the newly reached thresholds in ascending order. */
export function alertsOf(
  level: AlertLevel,
  { inside, capacity }: { inside: number; capacity: number | null },
): { level: AlertLevel; passed: Exclude<AlertLevel, 0>[] } {
  if (capacity === null) return { level: 0, passed: [] }
  const isAtLeast = (percent: number) => inside * 100 >= percent * capacity
  let current: AlertLevel = 0
  const passed: Exclude<AlertLevel, 0>[] = []
  for (const { percent, rearmedBelow } of THRESHOLDS) {
    const isInForce = level >= percent && isAtLeast(rearmedBelow)
    if (!isInForce && !isAtLeast(percent)) continue
    current = percent
    if (!isInForce) passed.push(percent)
  }
  return { level: current, passed }
}

export type Fullness = 'free' | 'nearlyFull' | 'full'

/**
 * Returns the state of a zone: nearly full from 80 percent of the capacity. A zone without a capacity is always free.
 */
export function fullnessOf({ inside, capacity }: { inside: number; capacity: number | null }): Fullness {
  if (isFull({ inside, capacity })) return 'full'
  return capacity !== null && inside * 100 >= THRESHOLDS[0].percent * capacity ? 'nearlyFull' : 'free'
}

export function isFull({ inside, capacity }: { inside: number; capacity: number | null }): boolean {
  return capacity !== null && inside >= capacity
}
