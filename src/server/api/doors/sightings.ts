import { doorHeaders } from '../../../core/contract/doors.ts'
import type { Store } from '../../../storage/store.ts'
import type { DoorSighting } from '../../../storage/workspaces/doors.ts'
import type { TokenWithWorkspace } from '../../../storage/workspaces/tokens.ts'
import type { Logger } from '../../log.ts'

/** What doors say of themselves with their requests, on its way into the database. */
export interface Sightings {
  /** Keeps what a door says; costs a request of it next to nothing, and one of another token nothing. */
  note(token: TokenWithWorkspace, headers: Headers, at: Date): void
  /** Writes what was noted: one statement a workspace. */
  flush(): Promise<void>
  /** Ends the waiting; writes nothing. */
  close(): void
}

/** Of each door one write in so long, however much it scans. */
const FLUSH_MS = 15_000

const VERSION = /^[\w.+-]{1,64}$/
const PENDING = /^\d{1,7}$/

/** Collects what doors say, for 15 seconds at a time. What a crash takes along comes with their next requests. */
export function createSightings({ store, log }: { store: Store; log: Logger }): Sightings {
  let noted = new Map<string, DoorSighting & { workspaceId: string }>()
  let waiting: NodeJS.Timeout | undefined
  /** Tokens of doors whose first request is written at once; a cached token does not know yet that it is stored. */
  const firstSeen = new WeakSet<TokenWithWorkspace>()

  async function flush(): Promise<void> {
    clearTimeout(waiting)
    waiting = undefined
    const seen = [...noted.values()]
    noted = new Map()
    for (const workspaceId of new Set(seen.map((sighting) => sighting.workspaceId))) {
      const sightings = seen.filter((sighting) => sighting.workspaceId === workspaceId)
      await store
        .statement((tx) => tx.doors.setSeen(workspaceId, sightings))
        .catch((error) => log.warn({ err: error, workspaceId }, 'could not note when doors were seen'))
    }
  }

  return {
    note(token, headers, at) {
      const { id, workspaceId, door } = token
      if (!door || store.isFrozen) return
      const known = noted.get(id) ?? door
      const version = headers.get(doorHeaders.version)
      const pending = headers.get(doorHeaders.pending)
      noted.set(id, {
        workspaceId,
        doorId: id,
        at,
        version: version !== null && VERSION.test(version) ? version : known.version,
        pendingScans: pending !== null && PENDING.test(pending) ? Number(pending) : known.pendingScans,
      })
      if (!door.isSeen && !firstSeen.has(token)) {
        firstSeen.add(token)
        void flush()
      }
      waiting ??= setTimeout(flush, FLUSH_MS).unref()
    },
    flush,
    close: () => clearTimeout(waiting),
  }
}
