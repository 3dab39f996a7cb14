import { ScanCreate } from '../../core/contract/scans/scans.ts'
import type { DoorGroup } from '../../core/contract/schemas/scan-shapes.ts'
import { badgeOf, type Candidate, type Outcome, rejectedFirst } from '../../core/rules/door/outcome.ts'
import { type Door, type Overrides, opposite } from './console-door.ts'
import type { Input, Key } from './input.ts'
import { badgeWords, EXIT_DELETED } from './outcome.ts'
import type { Panel } from './panel-lines.ts'

export interface ControlsOptions {
  door: Door
  clearInput: () => void
  /** Called for Ctrl-C, after a confirmation if scans are not evaluated yet. */
  onInterrupt: () => void
  onChange: () => void
}

/** Keys that the lock disables, so that door staff can only scan. */
const lockable = new Set<Key>(['search', 'undo', 'override', 'group', 'direction'])

/**
 * Creates the handlers of keys and lines. Input from a scanner is always a scan, even while a panel is open. Only typed
 * text can be a name to search for or a value to set.
 */
export function createControls({ door, clearInput, onInterrupt, onChange }: ControlsOptions) {
  let panel: Panel = null
  let isLocked = false

  function show(next: Panel): void {
    // Clear the typed text if the panel changes, because the text belongs to the previous panel.
    if (next?.kind !== panel?.kind || next?.kind === 'override') clearInput()
    panel = next
    onChange()
  }

  function line(text: string, isTyped: boolean): void {
    if (isTyped && panel?.kind === 'search') void search(text.trim())
    else if (isTyped && panel?.kind === 'override') override(panel.field, text.trim())
    else if (isTyped && panel?.kind === 'choose' && /^\d{1,2}$/.test(text)) choose(panel.candidates[Number(text) - 1])
    else if (isTyped && panel?.kind === 'group' && /^\d{1,2}$/.test(text)) void letIn(panel.open, Number(text))
    else {
      // Close the panel, except a panel in which the operator is typing a name or value.
      if (panel?.kind !== 'search' && panel?.kind !== 'override') {
        clearInput()
        if (panel) show(null)
      }
      void door.scan(text)
    }
  }

  async function search(text: string): Promise<void> {
    const found = await door.search(text)
    // If the operator has left the search panel, drop the results, because they would replace another panel.
    if (panel?.kind !== 'search') return
    if (typeof found === 'string') door.notify(found)
    else if (found.length === 0) door.notify(`No match for ${text}.`)
    else show({ kind: 'choose', title: `Found for ${text}`, candidates: found, selected: 0, of: null })
  }

  function choose(candidate: Candidate | undefined): void {
    if (!candidate) return
    show(null)
    void door.admit(candidate.passId)
  }

  function override(field: keyof Overrides, text: string): void {
    if (text !== '' && !ScanCreate.shape[field].safeParse(text).success) {
      door.notify(field === 'validityDate' ? `${text} is not a date such as 2026-12-31.` : 'That context is too long.')
      return
    }
    door.arm({ [field]: text === '' ? null : text })
    door.notify(null)
    show(null)
  }

  function undo(): void {
    if (panel?.kind === 'undo') {
      door.undo(panel.scan)
      show(null)
      return
    }
    const scan = door.lastAccepted()
    if (scan) show({ kind: 'undo', scan })
    else door.notify('There is no accepted scan to undo.')
  }

  /** Shows the members who can still be accepted in the group. A second press of the key accepts all of them. */
  function group(): void {
    if (panel?.kind === 'group') {
      void letIn(panel.open, panel.open.length)
      return
    }
    const { decision, isSlow } = door.state
    if (isSlow) door.notify('The last scan is still being checked.')
    else if (!decision?.group) door.notify('The last scan has no group.')
    else if (decision.group.open.length === 0) door.notify('Everyone of the group is admitted.')
    else show({ kind: 'group', label: decision.label ?? '', open: decision.group.open })
  }

  /** Scans the first `many` passes in `open` separately, so that the rules apply to each pass. */
  async function letIn(open: DoorGroup['open'], many: number): Promise<void> {
    if (many < 1 || many > open.length) return door.notify(`Type a number from 1 to ${open.length}.`)
    show(null)
    const outcomes = await Promise.all(
      open.slice(0, many).map(async ({ passId, label }) => {
        const outcome = await door.admit(passId)
        // Add the label of the pass, because the outcome of a failed scan has no label.
        return { ...outcome, label: outcome.label ?? label }
      }),
    )
    const accepted = outcomes.filter(({ result }) => result === 'accepted')
    const title = `${accepted.length} of ${many} let in`
    if (panel === null) show({ kind: 'entered', title, outcomes: rejectedFirst(outcomes), first: 0 })
    if (accepted.length === many) return door.notify(`${title}.`)
    const rejected = outcomes.flatMap((outcome) => {
      return outcome.result === 'accepted' ? [] : [`${outcome.label} (${badgeWords[badgeOf(outcome).word]})`]
    })
    door.notify(`${title}, not ${rejected.join(', ')}.`)
  }

  function move(by: number): void {
    if (panel?.kind === 'choose') {
      const { length } = panel.candidates
      show({ ...panel, selected: (panel.selected + by + length) % length })
    } else if (panel?.kind === 'entered') {
      show({ ...panel, first: Math.max(0, Math.min(panel.first + by, panel.outcomes.length - 1)) })
    }
  }

  const keys: Record<Exclude<Key, 'interrupt' | 'lock'>, () => void> = {
    search: () => show(panel?.kind === 'search' ? null : { kind: 'search' }),
    undo,
    override: () => {
      if (panel?.kind !== 'override') show({ kind: 'override', field: 'scanContextKey' })
      else show(panel.field === 'scanContextKey' ? { kind: 'override', field: 'validityDate' } : null)
    },
    group,
    direction() {
      const { movement } = door.state
      if (!movement) return door.notify('This console scans without a zone (--zone).')
      if (door.state.notice === EXIT_DELETED) return
      show(panel?.kind === 'direction' ? null : { kind: 'direction', to: opposite(movement.direction) })
    },
    confirm() {
      if (panel?.kind !== 'direction') return
      door.turn()
      show(null)
    },
    up: () => move(-1),
    down: () => move(1),
    escape: () => {
      clearInput()
      door.dismiss()
      show(null)
    },
    enter: () => {
      if (panel?.kind === 'choose') choose(panel.candidates[panel.selected])
      else if (panel?.kind === 'override') override(panel.field, '')
    },
  }

  return {
    get panel() {
      return panel
    },
    get isLocked() {
      return isLocked
    },
    handle(input: Input) {
      if (input.kind === 'line') return line(input.text, input.isTyped)
      if (input.key === 'interrupt') {
        const { unevaluated } = door.state
        if (panel?.kind === 'quit' || unevaluated.length === 0) return onInterrupt()
        return show({ kind: 'quit', unevaluated })
      }
      if (input.key === 'lock') {
        isLocked = !isLocked
        return show(null)
      }
      if (isLocked && lockable.has(input.key)) return door.notify('Locked: scans only. F8 unlocks.')
      keys[input.key]()
    },
    /** Updates the panel after a scan. If several passes match the scan, opens a panel to choose from. */
    evaluated({ result, message, candidates, externalRef }: Outcome): void {
      if (result === 'ambiguous') show({ kind: 'choose', title: message, candidates, selected: 0, of: externalRef })
      else if (panel?.kind === 'quit')
        show(door.state.unevaluated.length > 0 ? { kind: 'quit', unevaluated: door.state.unevaluated } : null)
      // Close the choices of an earlier ambiguous scan. Otherwise, they would seem to belong to the new scan.
      else if (panel?.kind === 'choose' && panel.of !== null) show(null)
    },
  }
}
