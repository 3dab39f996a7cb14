import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { DoorGroup } from '../../../core/contract/scan-shapes.ts'
import { badgeOf } from '../../../core/rules/door/badge.ts'
import { rejectedFirst } from '../../../core/rules/door/outcome.ts'
import type { ScanRequest, Verdict } from '../../engine/engine.ts'
import { useDoor } from '../context.ts'

/** The decision that is shown, and the actions that lead to the next one. */
export interface Scanning {
  shown: Verdict | null
  /** The number of decisions on members of a group that follow the one that is shown. */
  following: number
  /** Whether a decision is pending for long enough that the page shows it. */
  isSlow: boolean
  evaluate(request: ScanRequest): Promise<void>
  /** Scans other members of a group. Each gets its own decision on the screen, rejected ones first. */
  letIn(members: DoorGroup['open']): Promise<void>
  undo(verdict: Verdict): Promise<void>
  next(): void
}

interface Shown {
  /** The last decision on a single scan, until `next`. */
  last: Verdict | null
  /** Decisions on members of a group. Each stays until `next` while it is shown, whatever is scanned in between. */
  members: readonly Verdict[]
  /** Whether nothing is shown, since a decision is pending. */
  isHidden: boolean
}

/** Most verdicts are there sooner: a screen that goes blank before each of them would only flicker. */
const SOON_MS = 200

/** Evaluates what is held up, shows it, and tells ears and hands. */
export function useScanning(): Scanning {
  const { engine, feedback } = useDoor()
  const [{ last, members, isHidden }, setShown] = useState<Shown>({ last: null, members: [], isHidden: false })
  const [slow, setSlow] = useState(0)

  /** Shows what comes of it. The verdict of whoever came before does not stand there meanwhile: it would let in the next. */
  const show = useCallback(
    async (coming: Promise<readonly Verdict[]>) => {
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        setShown(({ members }) => ({ last: null, members, isHidden: true }))
        setSlow((count) => count + 1)
      }, SOON_MS)
      const verdicts = await coming
      clearTimeout(timer)
      if (isSlow) setSlow((count) => count - 1)
      const [first] = verdicts
      if (!first) return
      setShown(({ members }) => {
        const isSingle = verdicts.length === 1
        return {
          last: isSingle ? first : null,
          members: isSingle ? members : [...verdicts, ...members],
          isHidden: false,
        }
      })
      feedback.tell(badgeOf(first).tone)
    },
    [feedback],
  )
  const acts = useMemo(
    () => ({
      evaluate: (request: ScanRequest) => show(engine.scan(request).then((verdict) => [verdict])),
      letIn: (members: DoorGroup['open']) => {
        const passIds = members.map(({ passId }) => passId)
        return show(engine.scanAll(passIds).then((verdicts) => rejectedFirst(completed(verdicts, members))))
      },
      undo: (verdict: Verdict) => {
        const isOther = ({ externalRef }: Verdict) => externalRef !== verdict.externalRef
        setShown(({ members }) => ({ last: null, members: members.filter(isOther), isHidden: true }))
        return show(engine.undo(verdict).then((undone) => [undone]))
      },
      next: () =>
        setShown(({ last, members }) => ({ last: null, members: last ? members : members.slice(1), isHidden: false })),
    }),
    [engine, show],
  )
  useEffect(() => listenForScanners((payload) => void acts.evaluate({ payload, method: 'scanner' })), [acts])
  const shown = isHidden ? null : (last ?? members[0] ?? null)
  const following = last ? members.length : Math.max(0, members.length - 1)
  return { shown, following, isSlow: slow > 0, ...acts }
}

/** A scan that failed does not know the holder of the pass, and only the last one knows how far the group is in now. */
function completed(verdicts: readonly Verdict[], members: DoorGroup['open']): Verdict[] {
  const group = verdicts.findLast(({ group }) => group !== null)?.group ?? null
  return verdicts.map((verdict, n) => ({ ...verdict, group, label: verdict.label ?? members[n]!.label }))
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
