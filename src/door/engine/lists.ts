import type { EngineEnvironment } from './environment.ts'
import type { DoorServer, Reply, SnapshotPage } from './server.ts'
import type { EngineStore, Identity } from './store.ts'

/**
 * A list is asked for what changed as often, and again that soon where there is none. With the time between two looks at the
 * server it is less than a list of all doors stands for, so that each goes from one of those to the next (decisions/0010).
 */
const REFRESH_MS = 15_000
const FETCH_AGAIN_MS = 3_000
/** What a phone had stored, or was left with by the network, is renewed within so long, each phone at another moment. */
const FIRST_REFRESH_MS = 10_000
/** One that takes long takes its server long as well: it rests for so many times as long. */
const REST_FACTOR = 20

/** Keeps the list of a door fresh. */
export interface ListKeeper {
  /** Whether it is time to ask what changed. */
  isDue(): boolean
  /** Brings the list up to date where it is time, one tab at a time. */
  freshen(signal: AbortSignal): Promise<void>
  /** Waits a little before it asks again: all doors of a place come back at once, and each has much to fetch. */
  askSoon(): void
  /** Asks at the next occasion. */
  askNow(): void
  /** Resolves when nothing is on its way. */
  ended(): Promise<void>
}

interface ListKeeperOptions {
  store: () => EngineStore
  server: DoorServer
  environment: Pick<EngineEnvironment, 'withLock' | 'monotonicMs' | 'random'>
  identity: () => Identity | undefined
  /** How many passes of a list have come so far; null where none is on its way. */
  onLoading: (loaded: number | null) => void
  /** The list may have changed. Receives the rejection of the server, if it gives none out. */
  onFetched: (rejection: { code: string; message: string } | null) => void
  onError: (error: unknown) => void
}

/** Makes what keeps the list of a door. */
export function createListKeeper(options: ListKeeperOptions): ListKeeper {
  const { store, server, environment, identity, onLoading, onFetched, onError } = options
  let fetching: Promise<void> | undefined
  let fetchFrom = 0
  const isEarly = () => environment.monotonicMs() < fetchFrom

  function freshen(signal: AbortSignal): Promise<void> {
    const door = identity()?.door
    if (fetching || isEarly() || signal.aborted || !door) return fetching ?? Promise.resolve()
    const { projectId } = door
    const startedAt = environment.monotonicMs()
    let isThere = false
    fetching = environment
      .withLock('list', () => fetchList({ store: store(), server, projectId, signal, onProgress: onLoading }))
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
    askSoon() {
      fetchFrom = Math.max(fetchFrom, environment.monotonicMs() + environment.random() * FIRST_REFRESH_MS)
    },
    askNow() {
      fetchFrom = 0
    },
    ended: async () => fetching,
  }
}

/** The code by which the server forbids scanning without it. */
export const OFFLINE_DISABLED = 'SCANNER_OFFLINE_DISABLED'

const PAGE = '1000'

/** Brings the stored list up to date: by what changed since it was made, else as a whole. */
async function fetchList(options: {
  store: EngineStore
  server: DoorServer
  projectId: string
  signal: AbortSignal
  /** Passes that have come so far. */
  onProgress: (loaded: number) => void
}): Promise<Reply<unknown>> {
  const { store, server, projectId, signal, onProgress } = options
  const { list } = await store.summary()
  if (list) {
    const amended = await amend(list.id)
    if (amended !== 'whole') return amended
  }
  return fetchWhole()

  async function amend(since: string): Promise<Reply<unknown> | 'whole'> {
    let page = await ask({ since })
    for (;;) {
      // Unknown to the server, too old for it, or an older server than the one that made it.
      if (page.kind === 'rejection' && [400, 404, 409].includes(page.status)) return 'whole'
      if (page.kind !== 'answer') return page
      const { id, generatedAt, items, removed = [], hasMore, nextCursor } = page.value
      // Items may be newer than the list that they are put into: what a walk that broke off has changed harms nothing.
      await store.amendList(items, removed, hasMore ? null : { id, generatedAt })
      if (!hasMore) return page
      page = await ask({ since, cursor: nextCursor! })
    }
  }

  async function fetchWhole(): Promise<Reply<unknown>> {
    let loaded = 0
    let page = await ask({})
    for (;;) {
      if (page.kind !== 'answer') return page
      const { id, generatedAt, items, hasMore, nextCursor } = page.value
      if (loaded === 0) await store.beginList({ id, generatedAt })
      // The next page is on its way while this one is stored.
      const next = hasMore ? ask({ cursor: nextCursor! }) : undefined
      await store.addToList(items)
      loaded += items.length
      onProgress(loaded)
      if (!next) {
        await store.finishList({ id, generatedAt })
        return page
      }
      page = await next
    }
  }

  function ask(query: Record<string, string>): Promise<Reply<SnapshotPage>> {
    return server.snapshot({ limit: PAGE, ...(projectId !== '' && { projectId }), ...query }, signal)
  }
}
