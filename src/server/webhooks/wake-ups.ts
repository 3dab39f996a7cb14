import type { StoreEvent } from '../../storage/operations/store-events.ts'

/**
 * When those who follow events of a workspace, or send to an endpoint, look for new ones: at once when this process wrote
 * some, else together, so that many of them ask the database as often as one does.
 */
export interface WakeUps {
  /** Takes what was committed. */
  merge(event: StoreEvent): void
  listen(workspaceId: string): WakeUp
  /** Calls back whenever something came for a workspace, or for an endpoint, with it; returns what ends it. */
  subscribe(subject: string, wake: (event: StoreEvent) => void): () => void
}

/** One follower of the events of a workspace. */
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

/** Followers of one subject. */
interface Followers {
  wakes: Set<(event: StoreEvent) => void>
  /** Those that sleep until the timer wakes them all. */
  sleeping: Set<() => void>
  timer: NodeJS.Timeout | undefined
  dueAt: number
  reads: Map<string, Promise<unknown>>
}

/** Wakes who waits for events: see WakeUps. */
export function createWakeUps(): WakeUps {
  const bySubject = new Map<string, Followers>()

  function join(subject: string, wake: (event: StoreEvent) => void): { followers: Followers; leave: () => void } {
    const followers = bySubject.get(subject) ?? nobody()
    bySubject.set(subject, followers)
    followers.wakes.add(wake)
    const leave = () => {
      followers.wakes.delete(wake)
      if (followers.wakes.size > 0) return
      clearTimeout(followers.timer)
      if (bySubject.get(subject) === followers) bySubject.delete(subject)
    }
    return { followers, leave }
  }

  return {
    merge(event) {
      const followers = bySubject.get(subjectOf(event) ?? '')
      followers?.reads.clear()
      for (const wake of followers?.wakes ?? []) wake(event)
    },

    subscribe: (subject, wake) => join(subject, wake).leave,

    listen(workspaceId) {
      let isWoken = false
      let stir: () => void = () => undefined
      const wake = () => {
        isWoken = true
        stir()
      }
      const { followers, leave } = join(workspaceId, wake)
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
          leave()
          stir()
        },
      }
    },
  }
}

function subjectOf(event: StoreEvent): string | undefined {
  if (event.what === 'event') return event.workspaceId
  return event.what === 'deliveries' ? event.webhookId : undefined
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
