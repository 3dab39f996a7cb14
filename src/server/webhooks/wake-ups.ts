import type { StoreEvent } from '../../storage/operations/store-events.ts'

export type WakeUps = ReturnType<typeof createWakeUps>

interface Followers {
  wakes: Set<(event: StoreEvent) => void>
  /** The callbacks of waiting followers, which the timer wakes up together. */
  sleeping: Set<() => void>
  timer: NodeJS.Timeout | undefined
  dueAt: number
  reads: Map<string, Promise<unknown>>
}

/**
 * Wakes up followers of the events of a workspace, and senders to a webhook. An event of this process wakes them
 * immediately. The followers of a workspace also wake up together at intervals, so that many followers query the
 * database as often as one.
 */
export function createWakeUps() {
  const bySubject = new Map<string, Followers>()

  function join(subject: string, wake: (event: StoreEvent) => void): { followers: Followers; leave: () => void } {
    const followers = bySubject.get(subject) ?? newFollowers()
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
    /** Wakes up the followers of a committed event. Reads that began before the event are no longer shared. */
    merge(event: StoreEvent): void {
      const followers = bySubject.get(subjectOf(event) ?? '')
      followers?.reads.clear()
      for (const wake of followers?.wakes ?? []) wake(event)
    },

    /** Calls `wake` with each event of a workspace or webhook. Returns a function that unsubscribes. */
    subscribe: (subject: string, wake: (event: StoreEvent) => void) => join(subject, wake).leave,

    listen(workspaceId: string) {
      let isWoken = false
      let wakeUp: () => void = () => undefined
      const wake = () => {
        isWoken = true
        wakeUp()
      }
      const { followers, leave } = join(workspaceId, wake)
      return {
        /**
         * Waits for new events, and resolves to whether events arrived. Resolves immediately if events arrived since
         * the last call. Otherwise, resolves with the next event, after the timeout, when another follower wakes up, or
         * when the signal aborts.
         */
        async next(milliseconds: number, ended: AbortSignal): Promise<boolean> {
          if (!isWoken && !ended.aborted) {
            await new Promise<void>((resolve) => {
              wakeUp = () => {
                followers.sleeping.delete(wakeUp)
                ended.removeEventListener('abort', wakeUp)
                resolve()
              }
              ended.addEventListener('abort', wakeUp, { once: true })
              sleep(followers, wakeUp, milliseconds)
            })
          }
          const came = isWoken
          isWoken = false
          return came
        },

        /** Shares a read among followers with the same key. A read that began before the last event is not shared. */
        async share<T>(key: string, read: () => Promise<T>): Promise<T> {
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
          wakeUp()
        },
      }
    },
  }
}

function subjectOf(event: StoreEvent): string | undefined {
  if (event.what === 'event') return event.workspaceId
  return event.what === 'deliveries' ? event.webhookId : undefined
}

function newFollowers(): Followers {
  return { wakes: new Set(), sleeping: new Set(), timer: undefined, dueAt: 0, reads: new Map() }
}

/** Puts a follower to sleep. All sleeping followers wake up together, at the earliest of their timeouts. */
function sleep(followers: Followers, wakeUp: () => void, milliseconds: number): void {
  followers.sleeping.add(wakeUp)
  const dueAt = performance.now() + milliseconds
  if (followers.timer && followers.dueAt <= dueAt) return
  clearTimeout(followers.timer)
  followers.dueAt = dueAt
  followers.timer = setTimeout(() => {
    followers.timer = undefined
    for (const one of [...followers.sleeping]) one()
  }, milliseconds)
}
