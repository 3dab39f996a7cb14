/** What reads sources again when they may have changed. */
export interface Refresher<Name extends string> {
  /** Reads these in the next round. */
  ask(names: Iterable<Name>): void
  /** Nothing is read for so long. */
  pause(ms: number): void
  end(): void
}

/** Between the beginnings of two rounds. */
const SPACING_MS = 1000

/** Requests at once: a workspace has few places, and others need them too. */
const AT_ONCE = 3

/**
 * Reads what was asked for in rounds, one a second at most and never two at a time: however often something happens, a page
 * costs the server no more than that.
 * @param load reads one source; it does not throw
 */
export function createRefresher<Name extends string>(load: (name: Name) => Promise<void>): Refresher<Name> {
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
    // It was told to wait meanwhile.
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
    ask(names) {
      for (const name of names) due.add(name)
      schedule()
    },
    pause(ms) {
      notBefore = Math.max(notBefore, Date.now() + ms)
    },
    end() {
      hasEnded = true
      clearTimeout(timer)
    },
  }
}
