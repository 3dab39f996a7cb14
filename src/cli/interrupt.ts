/** Calls `stop` on the first Ctrl-C; the second one ends the process at once. Returns what takes the listener off. */
export function onInterrupt(stop: () => void): () => void {
  let isFirst = true
  const listener = () => {
    if (!isFirst) process.exit(130)
    isFirst = false
    stop()
  }
  process.on('SIGINT', listener)
  return () => process.off('SIGINT', listener)
}
