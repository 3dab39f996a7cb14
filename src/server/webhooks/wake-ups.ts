import type { StoreEvent } from '../../storage/operations/store-events.ts'

/**
 * When those who follow events of a workspace look for new ones: at once when this process wrote some, else together, so that
 * many of them ask the database as often as one does.
 */
export interface WakeUps {
  /** Takes what was committed. */
  merge(event: StoreEvent): void
  listen(workspaceId: string): WakeUp
}

export interface WakeUp {
  /**
   * Resolves when there may be something new, after some time or when another follower looks, or when the signal ends it; at once
   * where something came since the last time. True where something came.
   */
  next(milliseconds: number, ended: AbortSignal): Promise<boolean>
  /** What is read of the workspace at this moment under the key, for all who ask; never from before something came. */
  share<T>(key: string, read: () => Promise<T>): Promise<T>
  close(): void
}

/** Followers of one workspace. */
interface Followers {
  wakes: Set<() => void>
  /** Those that sleep until the timer wakes them all. */
  sleeping: Set<() => void>
  timer: NodeJS.Timeout | undefined
  dueAt: number
  reads: Map<string, Promise<unknown>>
}

/** Wakes who waits for news of a workspace: see WakeUps. */
export function createWakeUps(): WakeUps {
  const workspaces = new Map<string, Followers>()
  return {
    merge(event) {
      if (event.what !== 'event') return
      const followers = workspaces.get(event.workspaceId)
      if (!followers) return
      followers.reads.clear()
      for (const wake of followers.wakes) wake()
    },

    listen(workspaceId) {
      const followers = workspaces.get(workspaceId) ?? nobody()
      workspaces.set(workspaceId, followers)
      let isWoken = false
      let stir: () => void = () => undefined
      const wake = () => {
        isWoken = true
        stir()
      }
      followers.wakes.add(wake)
      return {
        async next(milliseconds, ended) {
          if (!isWoken && !ended.aborted) {
            await new Promise<void>((resolve) => {
              stir = () => {
                followers.sleeping.delete(stir)
                ended.removeEventListener('abort', stir)
                resolve()
              }
              ended.addEventListener('abort', stir, { once: true })
              sleep(followers, stir, milliseconds)
            })
          }
          const came = isWoken
          isWoken = false
          return came
        },

        async share<T>(key: string, read: () => Promise<T>) {
          const reading = (followers.reads.get(key) as Promise<T> | undefined) ?? read()
          followers.reads.set(key, reading)
          try {
            return await reading
          } finally {
            if (followers.reads.get(key) === reading) followers.reads.delete(key)
          }
        },

        close() {
          followers.wakes.delete(wake)
          stir()
          if (followers.wakes.size > 0) return
          clearTimeout(followers.timer)
          if (workspaces.get(workspaceId) === followers) workspaces.delete(workspaceId)
        },
      }
    },
  }
}

function nobody(): Followers {
  return { wakes: new Set(), sleeping: new Set(), timer: undefined, dueAt: 0, reads: new Map() }
}

/** Whoever is to be woken first decides for all of them. */
function sleep(followers: Followers, stir: () => void, milliseconds: number): void {
  followers.sleeping.add(stir)
  const dueAt = performance.now() + milliseconds
  if (followers.timer && followers.dueAt <= dueAt) return
  clearTimeout(followers.timer)
  followers.dueAt = dueAt
  followers.timer = setTimeout(() => {
    followers.timer = undefined
    for (const one of [...followers.sleeping]) one()
  }, milliseconds)
}
