import { monotonicSeconds } from './monotonic-clock.ts'

/** Whether one more line is written, of those that strangers can cause. */
export interface LineLimit {
  /** @param source who caused it, such as an address or a workspace */
  admits(source: string): boolean
}

/** Lines a minute, and of those the lines of one source: nobody can fill a disk with them. */
const MAX_LINES = 60
const MAX_LINES_BY_SOURCE = 10
const WINDOW_SECONDS = 60
/** Sources that are told apart in a minute. */
const MAX_SOURCES = 10_000

interface Window {
  startedAt: number
  lines: number
  leftOut: number
  bySource: Map<string, number>
}

/** Settings of a line limit. */
export interface LineLimitOptions {
  /** Lines of one source in a minute (default 10). */
  linesBySource?: number
  now?: () => number
}

/**
 * Admits some of many lines that are alike.
 * @param onLeftOut told after a minute of which lines were left out: how many, and of how many sources there were lines
 */
export function createLineLimit(
  onLeftOut: (leftOut: number, sources: number) => void,
  { linesBySource = MAX_LINES_BY_SOURCE, now = monotonicSeconds }: LineLimitOptions = {},
): LineLimit {
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
    admits(source) {
      const window = open()
      const lines = window.bySource.get(source) ?? 0
      if (lines > 0 || window.bySource.size < MAX_SOURCES) window.bySource.set(source, lines + 1)
      if (window.lines < MAX_LINES && lines < linesBySource) {
        window.lines += 1
        return true
      }
      // Told even if nothing more comes.
      if (window.leftOut === 0) setTimeout(() => current === window && close(), WINDOW_SECONDS * 1000).unref()
      window.leftOut += 1
      return false
    },
  }
}
