import { useCallback, useEffect, useState } from 'preact/hooks'
import { badgeOf } from '../../../core/rules/door/badge.ts'
import type { ScanRequest, Verdict } from '../../engine/engine.ts'
import { useDoor } from '../context.ts'
import { listenForScanners } from './keyboard-scanner.ts'

/** The verdict that is shown, and what gives the next. */
export interface Scanning {
  shown: Verdict | null
  judge(request: ScanRequest): Promise<void>
  /** Lets others of a group in; what did not work is shown. */
  letIn(passIds: readonly string[]): Promise<void>
  undo(verdict: Verdict): Promise<void>
  next(): void
}

/** Judges what is held up, shows it, and tells ears and hands. */
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
  const judge = useCallback(async (request: ScanRequest) => show(await engine.scan(request)), [engine, show])
  useEffect(() => listenForScanners((payload) => void judge({ payload, method: 'scanner' })), [judge])

  return {
    shown,
    judge,
    async letIn(passIds) {
      const verdicts = await engine.scanAll(passIds)
      const verdict = verdicts.find(({ result }) => result !== 'accepted') ?? verdicts.at(-1)
      if (verdict) show(verdict)
    },
    undo: async (verdict) => show(await engine.undo(verdict)),
    next: () => setShown(null),
  }
}
