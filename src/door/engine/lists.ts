import type { Snapshot } from '../../core/contract/scans/scanner.ts'
import { groupOf } from '../../core/rules/door/evaluate-offline.ts'
import { candidateOfItem, searchByName } from '../../core/rules/door/matches.ts'
import type { Candidate } from '../../core/rules/door/outcome.ts'
import type { DoorEngine } from './engine.ts'
import type { EngineContext, Reply } from './server.ts'
import type { NamedItem } from './store/engine-store.ts'

/**
 * The interval of updates of the stored list of passes, in milliseconds. All doors of a project get the same snapshot
 * for 20 seconds. This interval plus the interval of probes is less than 20 seconds, so that no door skips a snapshot
 * (decisions/0010).
 */
const REFRESH_MS = 15_000
const FETCH_AGAIN_MS = 3_000
/** The maximum random delay of the first update after a start or a reconnection, in milliseconds. */
const FIRST_REFRESH_MS = 10_000
/** The pause after a download, as a multiple of its duration: a long download is also much work for the server. */
const REST_FACTOR = 20

interface ListKeeperOptions {
  /** Receives the number of passes that are loaded so far; `null` if no whole list is being loaded. */
  onLoading: (loaded: number | null) => void
  /** Called after each update that did not time out, with the server's rejection or `null`. */
  onFetched: (rejection: { code: string; message: string } | null) => void
  onError: (error: unknown) => void
}

export function createListKeeper(context: EngineContext, { onLoading, onFetched, onError }: ListKeeperOptions) {
  const { environment, identity, store } = context
  let fetching: Promise<void> | undefined
  let fetchFrom = 0
  const isEarly = () => environment.monotonicMs() < fetchFrom

  /** Updates the list if an update is due, in one tab at a time. */
  function freshen(signal: AbortSignal): Promise<void> {
    const door = identity()?.door
    if (fetching || isEarly() || signal.aborted || !door) return fetching ?? Promise.resolve()
    const { projectId } = door
    const startedAt = environment.monotonicMs()
    let isThere = false
    fetching = environment
      .withLock('list', () => fetchList(context, { projectId, signal, onLoading }))
      .then(async (end) => {
        const isDisabled = end.kind === 'rejection' && end.code === OFFLINE_DISABLED
        if (isDisabled) await store().dropList()
        if (end.kind !== 'timeout') onFetched(end.kind === 'rejection' ? end : null)
        isThere = isDisabled || end.kind === 'answer'
      })
      .catch(onError)
      .finally(() => {
        fetching = undefined
        const now = environment.monotonicMs()
        const rest = Math.max(REFRESH_MS, (now - startedAt) * REST_FACTOR)
        fetchFrom = now + (isThere ? rest : FETCH_AGAIN_MS)
        onLoading(null)
      })
    return fetching
  }

  return {
    isDue: () => !fetching && !isEarly(),
    freshen,
    /** Delays the next update by a random time, so that the doors of a venue do not all load at the same time. */
    askSoon() {
      fetchFrom = Math.max(fetchFrom, environment.monotonicMs() + environment.random() * FIRST_REFRESH_MS)
    },
    /** Makes an update due now. */
    askNow() {
      fetchFrom = 0
    },
    /** Resolves when no update is running. */
    ended: async () => fetching,
  }
}

export const OFFLINE_DISABLED = 'SCANNER_OFFLINE_DISABLED'

const PAGE = '1000'

/** Updates the stored list with the changes since it was created. If that is not possible, loads the whole list. */
async function fetchList(
  context: EngineContext,
  { projectId, signal, onLoading }: { projectId: string; signal: AbortSignal; onLoading: (loaded: number) => void },
): Promise<Reply<unknown>> {
  const { server, clock } = context
  const store = context.store()
  const { list, zones: seen } = await store.summary()
  const changes = list && (await load({ since: list.id }))
  // Load the whole list if the server does not know this list, if this list is too old, or if an older server does not
  // support changes.
  const isUnusable = changes?.kind === 'rejection' && [400, 404, 409].includes(changes.status)
  return !changes || isUnusable ? load({}) : changes

  async function load(query: { since?: string }): Promise<Reply<unknown>> {
    let loaded = 0
    let page = await ask(query)
    for (;;) {
      if (page.kind !== 'answer') return page
      const { id, generatedAt, items, removed = [], zones = [], hasMore, nextCursor } = page.value
      const head = hasMore ? null : { id, generatedAt }
      // Request the next page before storing this page, to save time.
      const next = hasMore ? ask({ ...query, cursor: nextCursor! }) : undefined
      // If storing this page fails, the next page is not awaited.
      next?.catch(() => undefined)
      // Store the zones with their resets before the list, so that movements made before a reset never count.
      if (head) await store.learnZones(zones, { at: clock.now().toISOString(), areAll: true, seen })
      if (query.since === undefined) {
        if (loaded === 0) await store.beginList()
        await store.addToList(items)
        loaded += items.length
        onLoading(loaded)
        if (head) await store.finishList(head)
      } else {
        // Store each page as it arrives. An interrupted update does no harm, because passes can be newer than their
        // list.
        await store.amendList(items, removed, head)
      }
      if (!next) return page
      page = await next
    }
  }

  function ask(query: Record<string, string>): Promise<Reply<Snapshot>> {
    return server.snapshot({ limit: PAGE, ...(projectId !== '' && { projectId }), ...query }, signal)
  }
}

/** The read-only part of an engine: lookups in the stored list of passes, and the counts of the server. */
export interface LookUp extends Pick<DoorEngine, 'search' | 'findGroup' | 'gates'> {
  /** Makes the next search read the names again. Call it when the list has changed. */
  forgetNames(): void
}

export function createLookUp({ store, server, clock, identity }: EngineContext): LookUp {
  let names: Promise<readonly NamedItem[]> | undefined
  return {
    forgetNames() {
      names = undefined
    },
    async search(text, limit): Promise<Candidate[]> {
      names ??= store().names()
      return searchByName(await names, text, limit).map(candidateOfItem)
    },
    findGroup(passId) {
      return store().look(passId, (facts) => {
        const [item] = facts.matches.items
        const attempt = { at: clock.now(), scanContextKey: null }
        const movement = identity()?.door.movement
        const presenceOf = movement && facts.presenceIn(movement, attempt.at)
        return groupOf(item!, attempt, { ...facts, presenceOf, isAccepted: false })
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
