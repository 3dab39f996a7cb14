export type Refresher<Name extends string> = ReturnType<typeof createRefresher<Name>>

/** The minimum interval between the starts of two rounds, in milliseconds. */
const SPACING_MS = 1000

/** The maximum number of concurrent requests. It is low, because all clients of a workspace share a small limit. */
const AT_ONCE = 3

/**
 * Reloads requested sources in rounds, at most one round per second and never two rounds at a time. This bounds the
 * load on the server regardless of the number of events.
 * @param load loads one source; it must not throw
 */
export function createRefresher<Name extends string>(load: (name: Name) => Promise<void>) {
  const due = new Set<Name>()
  let notBefore = 0
  let isRunning = false
  let hasEnded = false
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    if (timer !== undefined || isRunning || hasEnded || due.size === 0) return
    timer = setTimeout(run, Math.max(0, notBefore - Date.now()))
  }

  async function run(): Promise<void> {
    timer = undefined
    // If `pause` was called after the timer was set, wait again, so that the page does not ignore Retry-After.
    if (Date.now() < notBefore) return schedule()
    isRunning = true
    notBefore = Date.now() + SPACING_MS
    const names = [...due]
    due.clear()
    await Promise.all(Array.from({ length: AT_ONCE }, () => loadAll(names)))
    isRunning = false
    schedule()
  }

  async function loadAll(names: Name[]): Promise<void> {
    for (let name = names.shift(); name !== undefined && !hasEnded; name = names.shift()) await load(name)
  }

  return {
    /** Adds these sources to the next round of reloads. */
    ask(names: Iterable<Name>): void {
      for (const name of names) due.add(name)
      schedule()
    },
    pause(ms: number): void {
      notBefore = Math.max(notBefore, Date.now() + ms)
    },
    end(): void {
      hasEnded = true
      clearTimeout(timer)
    },
  }
}
