import type { DoorServer, Reply, SnapshotPage } from './server.ts'
import type { EngineStore } from './store.ts'

/** How the fetching of a list ended; offline scanning may be forbidden. */
export type ListEnd = 'done' | 'silence' | 'refused' | 'offline_disabled'

const PAGE = '1000'

/** Brings the stored list up to date: by what changed since it was made, else as a whole. */
export async function fetchList(options: {
  store: EngineStore
  server: DoorServer
  projectId: string
  signal: AbortSignal
  /** Passes that have come so far. */
  onProgress: (loaded: number) => void
}): Promise<ListEnd> {
  const { store, server, projectId, signal, onProgress } = options
  const { list } = await store.summary()
  if (list) {
    const amended = await amend(list.id)
    if (amended !== 'whole') return amended
  }
  return fetchWhole()

  async function amend(since: string): Promise<ListEnd | 'whole'> {
    let page = await ask({ since })
    for (;;) {
      // Unknown to the server, too old for it, or an older server than the one that made it.
      if (page.kind === 'refusal' && [400, 404, 409].includes(page.status)) return 'whole'
      if (page.kind !== 'answer') return endOf(page)
      const { id, generatedAt, items, removed = [], hasMore, nextCursor } = page.value
      // Items may be newer than the list that they are put into: what a walk that broke off has changed harms nothing.
      await store.amendList(items, removed, hasMore ? null : { id, generatedAt })
      if (!hasMore) return 'done'
      page = await ask({ since, cursor: nextCursor! })
    }
  }

  async function fetchWhole(): Promise<ListEnd> {
    await store.beginList()
    let loaded = 0
    let page = await ask({})
    for (;;) {
      if (page.kind !== 'answer') return endOf(page)
      const { id, generatedAt, items, hasMore, nextCursor } = page.value
      // The next page is on its way while this one is stored.
      const next = hasMore ? ask({ cursor: nextCursor! }) : undefined
      await store.addToList(items)
      loaded += items.length
      onProgress(loaded)
      if (!next) {
        await store.finishList({ id, generatedAt })
        return 'done'
      }
      page = await next
    }
  }

  function ask(query: Record<string, string>): Promise<Reply<SnapshotPage>> {
    return server.snapshot({ projectId, limit: PAGE, ...query }, signal)
  }
}

function endOf(reply: Exclude<Reply<unknown>, { kind: 'answer' }>): ListEnd {
  if (reply.kind === 'silence') return 'silence'
  return reply.code === 'SCANNER_OFFLINE_DISABLED' ? 'offline_disabled' : 'refused'
}
