import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { badgeOf } from '../../../core/rules/door/badge.ts'
import type { ScanRequest, Verdict } from '../../engine/engine.ts'
import { useDoor } from '../context.ts'

/** The verdict that is shown, and what gives the next. */
export interface Scanning {
  shown: Verdict | null
  /** A verdict has been waited for so long that it is said. */
  isSlow: boolean
  evaluate(request: ScanRequest): Promise<void>
  /** Lets others of a group in; what did not work is shown. */
  letIn(passIds: readonly string[]): Promise<void>
  undo(verdict: Verdict): Promise<void>
  next(): void
}

/** Most verdicts are there sooner: a screen that goes blank before each of them would only flicker. */
const SOON_MS = 200

/** Evaluates what is held up, shows it, and tells ears and hands. */
export function useScanning(): Scanning {
  const { engine, feedback } = useDoor()
  const [shown, setShown] = useState<Verdict | null>(null)
  const [slow, setSlow] = useState(0)

  /** Shows what comes of it. The verdict of whoever came before does not stand there meanwhile: it would let in the next. */
  const show = useCallback(
    async (coming: Promise<Verdict | undefined>) => {
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        setShown(null)
        setSlow((count) => count + 1)
      }, SOON_MS)
      const verdict = await coming
      clearTimeout(timer)
      if (isSlow) setSlow((count) => count - 1)
      if (!verdict) return
      setShown(verdict)
      feedback.tell(badgeOf(verdict).tone)
    },
    [feedback],
  )
  const acts = useMemo(
    () => ({
      evaluate: (request: ScanRequest) => show(engine.scan(request)),
      letIn: (passIds: readonly string[]) => show(engine.scanAll(passIds).then(worstOf)),
      undo: (verdict: Verdict) => show(engine.undo(verdict)),
      next: () => setShown(null),
    }),
    [engine, show],
  )
  useEffect(() => listenForScanners((payload) => void acts.evaluate({ payload, method: 'scanner' })), [acts])
  return { shown, isSlow: slow > 0, ...acts }
}

/** Of several, one that was not let in, else the last. */
function worstOf(verdicts: readonly Verdict[]): Verdict | undefined {
  return verdicts.find(({ result }) => result !== 'accepted') ?? verdicts.at(-1)
}

/** A person who types takes longer between two keys than this; what he began is dropped. */
const PAUSE_MS = 1000

/**
 * Listens for scanners that type like a keyboard, whatever has the focus but fields that people type into.
 * @returns what ends it
 */
function listenForScanners(onScan: (payload: string) => void): () => void {
  let typed = ''
  let lastAt = 0

  function onKey(event: KeyboardEvent): void {
    // Of a German keyboard @ and others are typed with AltGr, which Windows tells as Ctrl and Alt.
    const isShortcut = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph')
    if (isShortcut || event.isComposing) return
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
