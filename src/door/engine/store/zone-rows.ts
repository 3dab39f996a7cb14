import { changeAtDoor } from '../../../core/rules/door/presence-at-door.ts'
import type { KnownZone } from '../engine.ts'
import type { HeldCount, JournalEntry, ServerZone, Transaction } from './engine-store.ts'
import { metaOf, removeSeqs, setMeta } from './rows.ts'

/** The tables that the functions of this file use. */
export const ZONE_TABLES = ['meta', 'journal'] as const

export async function zonesOf(tx: Transaction): Promise<readonly KnownZone[]> {
  return (await metaOf(tx, 'zones')) ?? []
}

export function isHeld<Entry extends JournalEntry>(entry: Entry): entry is Entry & HeldCount {
  return entry.isHeld === true
}

export interface LearnOptions {
  /** The time of the response. */
  at: string
  /** Whether the learned zones are all zones, so that others are deleted (default: false). */
  areAll?: boolean
  /**
   * The stored zones before the request. If a zone got a newer number of people inside during the request, for example
   * from a scan, that number is kept.
   */
  seen?: readonly KnownZone[]
}

/**
 * Stores zones that the server sent. Adds this door's pending changes, except entries with `isHeld`, to the server's
 * number of people inside. Deletes adjustments from before a reset: the server would count them after the reset.
 */
export async function learnZones(
  tx: Transaction,
  zones: readonly ServerZone[],
  { at, areAll, seen }: LearnOptions,
): Promise<void> {
  const known = await zonesOf(tx)
  if (known.length + zones.length === 0) return
  const pending = await tx.find('journal', 'waits')
  const learned = zones.map((zone): KnownZone => {
    const before = known.find(({ id }) => id === zone.id)
    const { id, name, capacity, whenFull, resetAt } = { whenFull: 'warn' as const, resetAt: null, ...before, ...zone }
    const isNewer = before && seen && before.at !== seen.find((one) => one.id === id)?.at
    if (isNewer) return { ...before, name, capacity, whenFull, resetAt }
    const changes = pending.map((entry) => changeAtDoor(entry, { id, resetAt }))
    const inside = changes.reduce((sum, change) => sum + change, zone.inside)
    return { id, name, capacity, whenFull, resetAt, inside, at }
  })
  const others = areAll ? [] : known.filter(({ id }) => !learned.some((zone) => zone.id === id))
  await setMeta(tx, 'zones', [...others, ...learned])
  const isOver = (entry: JournalEntry) =>
    learned.some((zone) => entry.adjustment?.zoneId === zone.id && changeAtDoor(entry, zone) === 0)
  const held = (await tx.find('journal', 'rejection')).filter(isHeld)
  await removeSeqs(tx, 'journal', [...pending, ...held].filter(isOver))
}

/** Adds a pending change of this door to the number of people inside a zone (`sign` 1), or removes the change (-1). */
export async function changeZone(tx: Transaction, entry: JournalEntry, sign: 1 | -1 = 1): Promise<void> {
  if (!entry.movement && !entry.adjustment) return
  const zones = await zonesOf(tx)
  const changed = zones.map((zone) => ({ ...zone, inside: zone.inside + sign * changeAtDoor(entry, zone) }))
  await setMeta(tx, 'zones', changed)
}
