/**
 * Calls `stop` on the first Ctrl-C; the second one ends the process at once, after `end` had its last words. Returns what
 * takes the listener off.
 */
export function onInterrupt(stop: () => void, end?: () => void): () => void {
  let isFirst = true
  const listener = () => {
    if (isFirst) {
      isFirst = false
      return stop()
    }
    end?.()
    process.exit(130)
  }
  process.on('SIGINT', listener)
  return () => process.off('SIGINT', listener)
}
