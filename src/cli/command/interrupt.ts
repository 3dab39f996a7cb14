/** A terminal shows ^C where the cursor stands: what comes next, a prompt perhaps, begins a line of its own. */
export function leaveEcho(): void {
  if (process.stderr.isTTY) process.stderr.write('\n')
}

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
