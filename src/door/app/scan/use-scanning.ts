import { useCallback, useEffect, useState } from 'preact/hooks'
import { badgeOf } from '../../../core/rules/door/badge.ts'
import type { ScanRequest, Verdict } from '../../engine/engine.ts'
import { useDoor } from '../context.ts'

/** The verdict that is shown, and what gives the next. */
export interface Scanning {
  shown: Verdict | null
  evaluate(request: ScanRequest): Promise<void>
  /** Lets others of a group in; what did not work is shown. */
  letIn(passIds: readonly string[]): Promise<void>
  undo(verdict: Verdict): Promise<void>
  next(): void
}

/** Evaluates what is held up, shows it, and tells ears and hands. */
export function useScanning(): Scanning {
  const { engine, feedback } = useDoor()
  const [shown, setShown] = useState<Verdict | null>(null)

  const show = useCallback(
    (verdict: Verdict) => {
      setShown(verdict)
      feedback.tell(badgeOf(verdict).tone)
    },
    [feedback],
  )
  const evaluate = useCallback(async (request: ScanRequest) => show(await engine.scan(request)), [engine, show])
  useEffect(() => listenForScanners((payload) => void evaluate({ payload, method: 'scanner' })), [evaluate])

  return {
    shown,
    evaluate,
    async letIn(passIds) {
      const verdicts = await engine.scanAll(passIds)
      const verdict = verdicts.find(({ result }) => result !== 'accepted') ?? verdicts.at(-1)
      if (verdict) show(verdict)
    },
    undo: async (verdict) => show(await engine.undo(verdict)),
    next: () => setShown(null),
  }
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
