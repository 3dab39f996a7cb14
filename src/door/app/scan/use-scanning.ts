import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { DoorGroup } from '../../../core/contract/schemas/scan-shapes.ts'
import { badgeOf, rejectedFirst } from '../../../core/rules/door/outcome.ts'
import type { Decision, ScanRequest } from '../../engine/engine.ts'
import { useDoor } from '../door-context.ts'

export type Scanning = ReturnType<typeof useScanning>

interface Shown {
  /** The last decision on a single scan, until `next` is called. */
  last: Decision | null
  /** Decisions on members of a group. Each stays until `next` is called for it, regardless of other scans. */
  members: readonly Decision[]
  /** Whether the screen shows no decision, because a decision is pending. */
  isHidden: boolean
}

/** The delay before the screen is cleared for a slow decision, in milliseconds. Clearing it sooner would flicker. */
const SOON_MS = 200

/** Evaluates scans, shows their decisions, and plays their signals. */
export function useScanning() {
  const { engine, feedback } = useDoor()
  const [{ last, members, isHidden }, setShown] = useState<Shown>({ last: null, members: [], isHidden: false })
  const [slow, setSlow] = useState(0)

  /**
   * Shows a decision when it arrives. If this takes longer than SOON_MS, clears the previous decision, so that staff do
   * not apply that decision to the next person.
   */
  const show = useCallback(
    async (coming: Promise<readonly Decision[]>) => {
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        setShown(({ members }) => ({ last: null, members, isHidden: true }))
        setSlow((count) => count + 1)
      }, SOON_MS)
      const decisions = await coming
      clearTimeout(timer)
      if (isSlow) setSlow((count) => count - 1)
      const [first] = decisions
      if (!first) return
      setShown(({ members }) => {
        const isSingle = decisions.length === 1
        return {
          last: isSingle ? first : null,
          members: isSingle ? members : [...decisions, ...members],
          isHidden: false,
        }
      })
      feedback.signal(badgeOf(first).tone)
    },
    [feedback],
  )
  const acts = useMemo(
    () => ({
      evaluate: (request: ScanRequest) => show(engine.scan(request).then((decision) => [decision])),
      /** Scans other members of a group. Each decision is shown separately, rejections first. */
      letIn: (members: DoorGroup['open']) => {
        const passIds = members.map(({ passId }) => passId)
        return show(engine.scanAll(passIds).then((decisions) => rejectedFirst(completed(decisions, members))))
      },
      undo: (decision: Decision) => {
        const isOther = ({ externalRef }: Decision) => externalRef !== decision.externalRef
        setShown(({ members }) => ({ last: null, members: members.filter(isOther), isHidden: true }))
        return show(engine.undo(decision).then((undone) => [undone]))
      },
      next: () =>
        setShown(({ last, members }) => ({ last: null, members: last ? members : members.slice(1), isHidden: false })),
    }),
    [engine, show],
  )
  useEffect(() => listenForScanners((payload) => void acts.evaluate({ payload, method: 'scanner' })), [acts])
  const shown = isHidden ? null : (last ?? members[0] ?? null)
  /** The number of decisions on members of a group that are shown after the current decision. */
  const following = last ? members.length : Math.max(0, members.length - 1)
  return { shown, following, isSlow: slow > 0, ...acts }
}

/**
 * Adds missing facts to decisions: a failed scan lacks the holder of the pass, and only the last scan has the final
 * state of the group.
 */
function completed(decisions: readonly Decision[], members: DoorGroup['open']): Decision[] {
  const group = decisions.findLast(({ group }) => group !== null)?.group ?? null
  return decisions.map((decision, n) => ({ ...decision, group, label: decision.label ?? members[n]!.label }))
}

/**
 * The maximum time between two keys of a code, in milliseconds. After a longer pause, the keys before the pause are
 * dropped, because a scanner types faster.
 */
const PAUSE_MS = 1000

/**
 * Listens for scanners that act as a keyboard, unless the focus is in a text field.
 * @returns a function that stops listening
 */
function listenForScanners(onScan: (payload: string) => void): () => void {
  let typed = ''
  let lastAt = 0

  function onKey(event: KeyboardEvent): void {
    // Do not treat AltGr as a shortcut: German keyboards type @ with AltGr, which Windows reports as Ctrl and Alt.
    const isShortcut = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph')
    if (isShortcut || event.isComposing) return
    if (event.target instanceof HTMLInputElement) return
    if (event.timeStamp - lastAt > PAUSE_MS) typed = ''
    lastAt = event.timeStamp
    if (event.key === 'Enter' || (event.key === 'Tab' && typed !== '')) {
      const payload = typed.trim()
      typed = ''
      if (payload === '') return
      // Prevent the default. Otherwise, the key would press the focused button.
      event.preventDefault()
      event.stopPropagation()
      onScan(payload)
    } else if ([...event.key].length === 1) {
      // Prevent the default. Otherwise, a space within a code would press the focused button. Ignore a leading space,
      // which is not part of a code.
      if (typed !== '') event.preventDefault()
      if (typed !== '' || event.key !== ' ') typed += event.key
    }
  }

  document.addEventListener('keydown', onKey, true)
  return () => document.removeEventListener('keydown', onKey, true)
}
