export type LineLimit = ReturnType<typeof createLineLimit>

/** The maximum numbers of lines per minute, in total and per source. Without them, a client could fill the disk. */
const MAX_LINES = 60
const MAX_LINES_BY_SOURCE = 10
const WINDOW_SECONDS = 60
/** The maximum number of sources that are counted per minute. */
const MAX_SOURCES = 10_000

interface Window {
  startedAt: number
  lines: number
  leftOut: number
  bySource: Map<string, number>
}

export interface LineLimitOptions {
  /** The maximum number of lines per minute and source (default 10). */
  linesBySource?: number
  now?: () => number
}

/**
 * Creates a limit on the log lines that unauthenticated clients or repeated failures cause.
 * @param onLeftOut called after a minute in which lines were omitted. Gets the numbers of omitted lines and sources
 */
export function createLineLimit(
  onLeftOut: (leftOut: number, sources: number) => void,
  { linesBySource = MAX_LINES_BY_SOURCE, now = monotonicSeconds }: LineLimitOptions = {},
) {
  let current: Window | undefined

  function close(): void {
    const closed = current
    current = undefined
    if (closed && closed.leftOut > 0) onLeftOut(closed.leftOut, closed.bySource.size)
  }

  function open(): Window {
    if (current && now() - current.startedAt < WINDOW_SECONDS) return current
    close()
    current = { startedAt: now(), lines: 0, leftOut: 0, bySource: new Map() }
    return current
  }

  return {
    /** Counts a line, and returns whether to write it. @param source the cause, such as an address or a workspace */
    admits(source: string): boolean {
      const window = open()
      const lines = window.bySource.get(source) ?? 0
      if (lines > 0 || window.bySource.size < MAX_SOURCES) window.bySource.set(source, lines + 1)
      if (window.lines < MAX_LINES && lines < linesBySource) {
        window.lines += 1
        return true
      }
      // Without this timer, omitted lines would be reported only when another line follows.
      if (window.leftOut === 0) setTimeout(() => current === window && close(), WINDOW_SECONDS * 1000).unref()
      window.leftOut += 1
      return false
    },
  }
}

/** Returns a time in seconds that never decreases, even if the clock of the machine is set back. */
export function monotonicSeconds(): number {
  return performance.now() / 1000
}
