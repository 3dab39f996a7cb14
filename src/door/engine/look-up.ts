import type { DoorGroup } from '../../core/contract/scan-shapes.ts'
import { groupOf } from '../../core/rules/door/evaluate-offline.ts'
import { candidateOfItem, searchByName } from '../../core/rules/door/matches.ts'
import type { Candidate } from '../../core/rules/door/outcome.ts'
import type { DoorClock } from './clock.ts'
import type { DoorEngine } from './engine.ts'
import type { DoorServer } from './server.ts'
import type { EngineStore, Identity, NamedItem } from './store.ts'

/** The part of an engine that only looks: at the list, and at what the server counted. */
export interface LookUp extends Pick<DoorEngine, 'search' | 'look' | 'gates'> {
  /** The list has changed: its names are read again when somebody searches. */
  forgetNames(): void
}

/** Looks at the list and at what the server counted: see LookUp. */
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
