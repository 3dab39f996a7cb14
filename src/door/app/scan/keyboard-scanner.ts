/** A person who types takes longer between two keys than this; what he began is dropped. */
const PAUSE_MS = 1000

/**
 * Listens for scanners that type like a keyboard, whatever has the focus but fields that people type into.
 * @returns what ends it
 */
export function listenForScanners(onScan: (payload: string) => void): () => void {
  let typed = ''
  let lastAt = 0

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (event.target instanceof HTMLInputElement) return
    if (event.timeStamp - lastAt > PAUSE_MS) typed = ''
    lastAt = event.timeStamp
    if (event.key === 'Enter' || (event.key === 'Tab' && typed !== '')) {
      const payload = typed.trim()
      typed = ''
      if (payload === '') return
      // It must not press the button that has the focus.
      event.preventDefault()
      event.stopPropagation()
      onScan(payload)
    } else if ([...event.key].length === 1) {
      // A space presses buttons, too; the first one of nothing is none of a code.
      if (typed !== '') event.preventDefault()
      if (typed !== '' || event.key !== ' ') typed += event.key
    }
  }

  document.addEventListener('keydown', onKey, true)
  return () => document.removeEventListener('keydown', onKey, true)
}
