import { doorHeaders } from '../../../core/contract/scans/doors.ts'
import { groupBy } from '../../../core/group-by.ts'
import type { Store } from '../../../storage/store.ts'
import type { DoorState } from '../../../storage/workspaces/doors-repository.ts'
import type { TokenWithWorkspace } from '../../../storage/workspaces/tokens-repository.ts'
import type { Logger } from '../../log.ts'

export type DoorActivity = ReturnType<typeof createDoorActivity>

const FLUSH_MS = 15_000

const VERSION = /^[\w.+-]{1,64}$/
const PENDING = /^\d{1,7}$/

/**
 * Creates a buffer for the states of doors, and writes it every FLUSH_MS. A door's first state is written immediately.
 */
export function createDoorActivity({ store, log }: { store: Store; log: Logger }) {
  const noted = new Map<string, DoorState & { workspaceId: string }>()
  let waiting: NodeJS.Timeout | undefined
  /**
   * The door tokens whose first state was written. A cached token does not show this, because its `isSeen` stays false.
   */
  const firstSeen = new WeakSet<TokenWithWorkspace>()

  async function flush(): Promise<void> {
    clearTimeout(waiting)
    waiting = undefined
    const seen = groupBy(noted.values(), ({ workspaceId }) => workspaceId)
    noted.clear()
    for (const [workspaceId, states] of seen) {
      await store
        .statement((tx) => tx.doors.setSeen(workspaceId, states))
        .catch((error) => log.warn({ err: error, workspaceId }, 'could not store when doors were last seen'))
    }
  }

  return {
    /** Buffers the state that a door sends with a request. Ignores tokens other than a door's. */
    note(token: TokenWithWorkspace, headers: Headers, at: Date): void {
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
    /** Stops the timer, and does not write the buffer. */
    close: () => clearTimeout(waiting),
  }
}
