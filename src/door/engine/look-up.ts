import type { DoorGroup } from '../../core/contract/scan-shapes.ts'
import { groupOf } from '../../core/rules/door/evaluate-offline.ts'
import { candidateOfItem, searchByName } from '../../core/rules/door/matches.ts'
import type { Candidate } from '../../core/rules/door/outcome.ts'
import type { DoorClock } from './clock.ts'
import type { DoorEngine } from './engine.ts'
import type { EngineStore, Identity, NamedItem } from './engine-store.ts'
import type { DoorServer } from './server.ts'

/** The read-only part of an engine: the list, and the counts of the server. */
export interface LookUp extends Pick<DoorEngine, 'search' | 'look' | 'gates'> {
  /** Call it when the list changed. The next search reads the names again. */
  forgetNames(): void
}

/** Creates the read-only part of an engine: see LookUp. */
export function createLookUp(options: {
  store: () => EngineStore
  server: DoorServer
  clock: DoorClock
  identity: () => Identity | undefined
}): LookUp {
  const { store, server, clock, identity } = options
  let names: Promise<readonly NamedItem[]> | undefined
  return {
    forgetNames() {
      names = undefined
    },
    async search(text, limit): Promise<Candidate[]> {
      names ??= store().names()
      return searchByName(await names, text, limit).map(candidateOfItem)
    },
    look(passId) {
      return store().look(passId, (facts): { candidate: Candidate; group: DoorGroup | null } => {
        const [item] = facts.matches.items
        const attempt = { at: clock.now(), scanContextKey: null }
        return { candidate: candidateOfItem(item!), group: groupOf(item!, attempt, { ...facts, isAccepted: false }) }
      })
    },
    async gates() {
      const today = clock.now()
      today.setHours(0, 0, 0, 0)
      const door = identity()?.door
      return door && server.gates(door.projectId, today)
    },
  }
}
