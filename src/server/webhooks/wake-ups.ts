import type { StoreEvent } from '../../storage/operations/store-events.ts'

/** Tells who follows events of a workspace that this process wrote some: sooner than they would look by themselves. */
export interface WakeUps {
  /** Takes what was committed. */
  merge(event: StoreEvent): void
  listen(workspaceId: string): WakeUp
}

export interface WakeUp {
  /**
   * Resolves when there may be something new, after some time, or when the signal ends it; at once where something came
   * since the last time. True where something came.
   */
  next(milliseconds: number, ended: AbortSignal): Promise<boolean>
  close(): void
}

export function createWakeUps(): WakeUps {
  const sleepers = new Map<string, Set<() => void>>()
  return {
    merge(event) {
      if (event.what === 'event') for (const wake of sleepers.get(event.workspaceId) ?? []) wake()
    },

    listen(workspaceId) {
      let isWoken = false
      let stir: () => void = () => undefined
      const wake = () => {
        isWoken = true
        stir()
      }
      const ofWorkspace = sleepers.get(workspaceId) ?? new Set()
      sleepers.set(workspaceId, ofWorkspace.add(wake))
      return {
        async next(milliseconds, ended) {
          if (!isWoken && !ended.aborted) {
            await new Promise<void>((resolve) => {
              const timer = setTimeout(resolve, milliseconds)
              stir = () => {
                clearTimeout(timer)
                ended.removeEventListener('abort', stir)
                resolve()
              }
              ended.addEventListener('abort', stir, { once: true })
            })
            stir()
          }
          const came = isWoken
          isWoken = false
          return came
        },
        close() {
          ofWorkspace.delete(wake)
          if (ofWorkspace.size === 0 && sleepers.get(workspaceId) === ofWorkspace) sleepers.delete(workspaceId)
        },
      }
    },
  }
}
