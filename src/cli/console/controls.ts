import { ScanCreate } from '../../core/contract/scans.ts'
import type { Door, Overrides } from './door.ts'
import type { Input } from './input.ts'
import type { Key } from './keys.ts'
import type { Candidate, Outcome } from './outcome.ts'
import type { Panel } from './screen/lines.ts'

export interface Controls {
  readonly panel: Panel
  readonly isLocked: boolean
  handle(input: Input): void
  /** The door has judged. */
  judged(outcome: Outcome): void
}

export interface ControlsOptions {
  door: Door
  /** Throws away what was typed so far. */
  clearInput: () => void
  onInterrupt: () => void
  onChange: () => void
}

/** What a lock keeps from hands that only mean to scan. */
const lockable = new Set<Key>(['search', 'undo', 'override'])

/**
 * What keys and lines do. Whatever panel is open, what a scanner types is a scan: only what a person types slowly is a
 * name to search for or a value to set.
 */
export function createControls({ door, clearInput, onInterrupt, onChange }: ControlsOptions): Controls {
  let panel: Panel = null
  let isLocked = false

  function show(next: Panel): void {
    panel = next
    onChange()
  }

  function line(text: string, isTyped: boolean): void {
    if (isTyped && panel?.kind === 'search') void search(text.trim())
    else if (isTyped && panel?.kind === 'override') override(panel.field, text.trim())
    else if (isTyped && panel?.kind === 'choose' && /^\d{1,2}$/.test(text)) choose(panel.candidates[Number(text) - 1])
    else {
      if (panel) show(null)
      void door.scan(text)
    }
  }

  async function search(text: string): Promise<void> {
    const found = await door.search(text)
    // Somebody went on meanwhile.
    if (panel?.kind !== 'search') return
    if (typeof found === 'string') door.notify(found)
    else if (found.length === 0) door.notify(`Nothing found for ${text}.`)
    else show({ kind: 'choose', title: `Found for ${text}`, candidates: found, selected: 0, of: null })
  }

  function choose(candidate: Candidate | undefined): void {
    if (!candidate) return
    show(null)
    void door.admit(candidate.passId)
  }

  function override(field: keyof Overrides, text: string): void {
    if (text !== '' && !ScanCreate.shape[field].safeParse(text).success) {
      door.notify(field === 'validityDate' ? `${text} is no date such as 2026-12-31.` : 'That context is too long.')
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

  function move(by: number): void {
    if (panel?.kind !== 'choose') return
    const { length } = panel.candidates
    show({ ...panel, selected: (panel.selected + by + length) % length })
  }

  const keys: Record<Exclude<Key, 'interrupt' | 'lock'>, () => void> = {
    search: () => show(panel?.kind === 'search' ? null : { kind: 'search' }),
    undo,
    override: () => {
      if (panel?.kind !== 'override') show({ kind: 'override', field: 'scanContextKey' })
      else show(panel.field === 'scanContextKey' ? { kind: 'override', field: 'validityDate' } : null)
    },
    up: () => move(-1),
    down: () => move(1),
    escape: () => {
      clearInput()
      door.notify(null)
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
    handle(input) {
      if (input.kind === 'line') return line(input.text, input.isTyped)
      if (input.key === 'interrupt') {
        const { unjudged } = door.state
        if (panel?.kind === 'quit' || unjudged.length === 0) return onInterrupt()
        return show({ kind: 'quit', unjudged })
      }
      if (input.key === 'lock') {
        isLocked = !isLocked
        return show(null)
      }
      if (isLocked && lockable.has(input.key)) return door.notify('Locked: only scans. F8 unlocks.')
      keys[input.key]()
    },
    judged({ result, message, candidates, externalRef }) {
      if (result === 'ambiguous') show({ kind: 'choose', title: message, candidates, selected: 0, of: externalRef })
      else if (panel?.kind === 'quit')
        show(door.state.unjudged.length > 0 ? { kind: 'quit', unjudged: door.state.unjudged } : null)
      // The list belonged to a verdict that is gone.
      else if (panel?.kind === 'choose' && panel.of !== null) show(null)
    },
  }
}
