import type { Platform } from '../../core/contract/schemas/platform.ts'
import { hourOf, type NewFigure } from '../../storage/operations/figures-repository.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../log.ts'

/** The response to a visitor of a hosted link: a redirect to one wallet, or a page that offers all. */
export type LinkOpen = Platform | 'other'

export interface LinkOpens {
  /** Counts an opening. Passes without a project are not counted. */
  note(pass: { workspaceId: string; projectId: string | null }, kind: LinkOpen, at: Date): void
  flush(): Promise<void>
  /** Stops the timer without writing. */
  close(): void
}

/** The interval of writes, regardless of the number of openings. */
const FLUSH_MS = 2_000

/**
 * Creates a counter in memory, because a bot can open a link a million times. A crash loses two seconds of openings.
 */
export function createLinkOpens({ store, log }: { store: Store; log: Logger }): LinkOpens {
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
    note({ workspaceId, projectId }, kind, at) {
      if (projectId === null || store.isFrozen) return
      count({ workspaceId, projectId, hour: hourOf(at), figure: `opened/${kind}`, n: 1 })
    },
    flush,
    close: () => clearTimeout(waiting),
  }
}
