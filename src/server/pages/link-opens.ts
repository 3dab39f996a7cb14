import type { Platform } from '../../core/contract/schemas/platform.ts'
import { groupBy } from '../../core/group-by.ts'
import { hourOf, type NewFigure } from '../../storage/operations/figures-repository.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../log.ts'

/** The response to a visitor of a hosted link: a redirect to one wallet, or a page that offers all. */
export type LinkOpen = Platform | 'other'

export type LinkOpens = ReturnType<typeof createLinkOpens>

interface Opened {
  workspaceId: string
  projectId: string | null
}

/** The maximum number of sources per project and hour. Further sources count as no source. */
const MAX_SOURCES = 100

const FLUSH_MS = 2_000

/** Counts openings in memory, because a bot can open a link a million times. A crash loses up to 2 s of openings. */
export function createLinkOpens({ store, log }: { store: Store; log: Logger }) {
  const noted = new Map<string, NewFigure & { workspaceId: string }>()
  let sources = new Map<string, Set<string>>()
  let sourcesHour = 0
  let waiting: NodeJS.Timeout | undefined

  function count(figure: NewFigure & { workspaceId: string }): void {
    const key = `${figure.projectId} ${figure.hour} ${figure.figure}`
    noted.set(key, { ...figure, n: figure.n + (noted.get(key)?.n ?? 0) })
    waiting ??= setTimeout(flush, FLUSH_MS).unref()
  }

  async function flush(): Promise<void> {
    clearTimeout(waiting)
    waiting = undefined
    const opened = groupBy(noted.values(), ({ workspaceId }) => workspaceId)
    noted.clear()
    for (const [workspaceId, figures] of opened) {
      const counted = figures.map(({ workspaceId: _, ...figure }) => figure)
      await store
        .transaction((tx) => tx.figures.insert(workspaceId, counted))
        .catch((error) => {
          log.warn({ err: error, workspaceId }, 'could not count opened links: the next attempt counts them')
          for (const figure of figures) count(figure)
        })
    }
  }

  /**
   * Returns the source under which a visit or a pass is counted. After MAX_SOURCES sources in an hour, a new source
   * counts as no source, so that made-up sources cannot fill the figures.
   */
  function countedSource(projectId: string, given: string | null, at: Date): string {
    const hour = hourOf(at)
    const source = given ?? ''
    if (hour !== sourcesHour) [sources, sourcesHour] = [new Map(), hour]
    const known = sources.get(projectId) ?? new Set()
    sources.set(projectId, known)
    if (!known.has(source) && known.size >= MAX_SOURCES) return ''
    known.add(source)
    return source
  }

  return {
    /** Counts an opening of a link, unless its pass has no project. */
    note({ workspaceId, projectId }: Opened, kind: LinkOpen, at: Date): void {
      if (projectId === null || store.isFrozen) return
      count({ workspaceId, projectId, hour: hourOf(at), figure: `opened/${kind}`, n: 1 })
    },
    /** Counts a visit of a join page under the source of the visit: `?source=` (any text) in the address. */
    noteJoin({ workspaceId, projectId }: Opened, source: string | null, at: Date): void {
      if (projectId === null || store.isFrozen) return
      const figure = `joined/seen/${countedSource(projectId, source, at)}`
      count({ workspaceId, projectId, hour: hourOf(at), figure, n: 1 })
    },
    countedSource,
    flush,
    /** Stops the timer without writing. */
    close: () => clearTimeout(waiting),
  }
}
