import type { Adjustment, DoorEngine } from './engine.ts'
import type { EngineContext } from './server.ts'
import { undoRefOf } from './store/decision-rows.ts'
import type { JournalEntry } from './store/engine-store.ts'
import { UNDO_REASON } from './uploads.ts'

const REASON = 'Counted at the door'

/**
 * Creates the part of an engine that counts people without a scan. Counts are stored first, and uploaded like scans.
 */
export function createCounter({
  store,
  identity,
  clock,
  environment,
  connection,
  onStored,
  tryToStore,
}: EngineContext): Pick<DoorEngine, 'adjust' | 'undoAdjustment'> {
  async function keep(work: () => Promise<void>): Promise<boolean> {
    if (!(await tryToStore(work))) return false
    onStored()
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
