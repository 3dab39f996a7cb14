import type { Platform } from '../../core/contract/platform.ts'
import { hourOf, type NewFigure } from '../../storage/operations/figures.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../log.ts'

/** The response to the visitor of a hosted link: the way into one wallet, or a page that offers all. */
export type Opening = Platform | 'other'

/** Hosted links that were opened, on their way into the database. */
export interface Openings {
  /** Counts one of a pass; of one without a project nothing. */
  note(pass: { workspaceId: string; projectId: string | null }, opening: Opening, at: Date): void
  /** Writes what was noted: one statement a workspace. */
  flush(): Promise<void>
  /** Ends the waiting; writes nothing. */
  close(): void
}

/** However often a link is opened, its project costs a write in so long. */
const FLUSH_MS = 2_000

/**
 * Counts openings in memory, two seconds at a time: an opening writes nothing else, and a bot that opens a link a million
 * times must not write a million rows. A crash loses those of two seconds.
 */
export function createOpenings({ store, log }: { store: Store; log: Logger }): Openings {
  const noted = new Map<string, NewFigure & { workspaceId: string }>()
  let waiting: NodeJS.Timeout | undefined

  function count(figure: NewFigure & { workspaceId: string }): void {
    const key = `${figure.projectId} ${figure.hour} ${figure.figure}`
    noted.set(key, { ...figure, n: figure.n + (noted.get(key)?.n ?? 0) })
    waiting ??= setTimeout(flush, FLUSH_MS).unref()
  }

  async function flush(): Promise<void> {
    clearTimeout(waiting)
    waiting = undefined
    const opened = [...noted.values()]
    noted.clear()
    for (const workspaceId of new Set(opened.map((figure) => figure.workspaceId))) {
      const figures = opened.filter((figure) => figure.workspaceId === workspaceId)
      const counted = figures.map(({ workspaceId: _, ...figure }) => figure)
      await store
        .transaction((tx) => tx.figures.insert(workspaceId, counted))
        .catch((error) => {
          log.warn({ err: error, workspaceId }, 'could not count opened links; they are kept for later')
          for (const figure of figures) count(figure)
        })
    }
  }

  return {
    note({ workspaceId, projectId }, opening, at) {
      if (projectId === null || store.isFrozen) return
      count({ workspaceId, projectId, hour: hourOf(at), figure: `opened/${opening}`, n: 1 })
    },
    flush,
    close: () => clearTimeout(waiting),
  }
}
