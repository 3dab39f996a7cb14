import type { Adjustment, DoorEngine } from './engine.ts'
import type { ScannerOptions } from './scanner.ts'
import type { EngineContext } from './server.ts'
import { undoRefOf } from './store/decision-rows.ts'
import { type JournalEntry, StorageFullError } from './store/engine-store.ts'
import { UNDO_REASON } from './uploads.ts'

export type Counter = Pick<DoorEngine, 'adjust' | 'undoAdjustment'>

const REASON = 'Counted at the door'

/**
 * Creates the part of an engine that counts people without a scan. Counts are stored first, and uploaded like scans.
 */
export function createCounter(
  { store, identity, clock, environment }: EngineContext,
  { onStored, connection }: Pick<ScannerOptions, 'onStored' | 'connection'>,
): Counter {
  async function keep(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error
      onStored(true)
      return false
    }
    onStored(false)
    if (connection()?.state === 'online') connection()?.retry()
    return true
  }

  function entryOf({ externalRef, ...counted }: Adjustment, reason: string): JournalEntry {
    const { projectId } = identity()!.door
    return {
      kind: 'counted',
      externalRef,
      projectId,
      waits: projectId,
      scannedAt: clock.now().toISOString(),
      scanContextKey: null,
      recordedAt: undefined,
      adjustment: { ...counted, reason },
    }
  }

  return {
    async adjust(delta) {
      const zoneId = identity()?.door.movement?.zoneId
      if (zoneId === undefined) return null
      const adjustment = { externalRef: environment.newReference(clock.now()), zoneId, delta }
      return (await keep(() => store().adjust(entryOf(adjustment, REASON)))) ? adjustment : null
    },
    async undoAdjustment(adjustment) {
      if (!identity()) return false
      const opposite = { ...adjustment, externalRef: undoRefOf(adjustment), delta: -adjustment.delta }
      return keep(() => store().undoAdjustment(entryOf(opposite, UNDO_REASON), adjustment.externalRef))
    },
  }
}
