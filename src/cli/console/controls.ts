import type { DoorGroup } from '../../core/contract/scan-shapes.ts'
import { ScanCreate } from '../../core/contract/scans.ts'
import { badgeOf } from '../../core/rules/door/badge.ts'
import type { Candidate, Outcome } from '../../core/rules/door/outcome.ts'
import type { Door, Overrides } from './door.ts'
import type { Panel } from './lines.ts'
import { badgeWords } from './outcome.ts'

/** The keys of the console: the panel that they opened, and the lock. */
export interface Controls {
  /** What is open over the decision; null for none. */
  readonly panel: Panel
  readonly isLocked: boolean
  handle(input: Input): void
  /** The door has evaluated a scan: several matches open a panel to choose from. */
  evaluated(outcome: Outcome): void
}

/** What the keys of the console act on. */
export interface ControlsOptions {
  door: Door
  /** Throws away what was typed so far. */
  clearInput: () => void
  /** Ctrl-C, confirmed where scans are left. */
  onInterrupt: () => void
  onChange: () => void
}

/** What a lock keeps from hands that only mean to scan. */
const lockable = new Set<Key>(['search', 'undo', 'override', 'group'])

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
    else if (isTyped && panel?.kind === 'group' && /^\d{1,2}$/.test(text)) void letIn(panel.open, Number(text))
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

  /** What may be let in together is seen first, and pressed again. */
  function group(): void {
    if (panel?.kind === 'group') {
      void letIn(panel.open, panel.open.length)
      return
    }
    const { decision } = door.state
    if (!decision?.group) door.notify('The last scan is of no group.')
    else if (decision.group.open.length === 0) door.notify('Nobody is left of the group.')
    else show({ kind: 'group', label: decision.label ?? '', open: decision.group.open })
  }

  /** Each is a scan of its own, as if it had been held up: no rule is skipped. */
  async function letIn(open: DoorGroup['open'], many: number): Promise<void> {
    if (many < 1 || many > open.length) return door.notify(`There are ${open.length}: type a number from 1 on.`)
    show(null)
    const outcomes = await Promise.all(open.slice(0, many).map(({ passId }) => door.admit(passId)))
    const refused = outcomes.flatMap((outcome, n) => {
      return outcome.result === 'accepted' ? [] : [`${open[n]!.label} (${badgeWords[badgeOf(outcome).word]})`]
    })
    const accepted = `${many - refused.length} of ${many} let in`
    door.notify(refused.length === 0 ? `${accepted}.` : `${accepted}, not ${refused.join(', ')}.`)
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
    group,
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
        const { unevaluated } = door.state
        if (panel?.kind === 'quit' || unevaluated.length === 0) return onInterrupt()
        return show({ kind: 'quit', unevaluated })
      }
      if (input.key === 'lock') {
        isLocked = !isLocked
        return show(null)
      }
      if (isLocked && lockable.has(input.key)) return door.notify('Locked: only scans. F8 unlocks.')
      keys[input.key]()
    },
    evaluated({ result, message, candidates, externalRef }) {
      if (result === 'ambiguous') show({ kind: 'choose', title: message, candidates, selected: 0, of: externalRef })
      else if (panel?.kind === 'quit')
        show(door.state.unevaluated.length > 0 ? { kind: 'quit', unevaluated: door.state.unevaluated } : null)
      // The list belonged to a decision that is gone.
      else if (panel?.kind === 'choose' && panel.of !== null) show(null)
    },
  }
}

/** What came from the terminal: a line that ended with Enter, or a key that types nothing. */
export type Input =
  /** Text that ended with Enter. A scanner types it at once; a person takes his time. */
  { kind: 'line'; text: string; isTyped: boolean } | { kind: 'key'; key: Key }

/** Takes keys and lines out of what a terminal in raw mode sends; see createInputReader. */
export interface InputReader {
  /** Takes what the terminal sent, in pieces of any size; `at` is in milliseconds. */
  push(chunk: string, at: number): Input[]
  /** To be called when nothing has come for a while: an ESC with nothing after it was the Escape key. */
  settle(at: number): Input[]
  /** What was typed since the last Enter. */
  readonly typed: string
  clear(): void
}

/** A scanner may end a payload with CR LF, or with two Enters. */
const SAME_ENTER_MS = 100
/** An Escape key stands alone; the rest of a sequence follows its ESC at once, even over a network. */
const ALONE_MS = 100
/** After that the rest of a sequence will not come any more. */
const BROKEN_MS = 500
/** A person needs 80 ms a key and more; the slowest scanners 20. */
const TYPED_MS_PER_CHARACTER = 35
const LONGEST_LINE = 100_000

const ESCAPE = '\u001B'

/**
 * Turns what a terminal in raw mode sends into lines and keys. A hardware scanner types the payload and Enter, often in
 * one piece, also glued to other input: pieces mean nothing here, and no part of an escape sequence enters a line.
 */
export function createInputReader(): InputReader {
  let line = ''
  let lineStartedAt = 0
  let enteredAt = Number.NEGATIVE_INFINITY
  /** An escape sequence of which the end is still to come. */
  let pending = ''
  let pendingSince = 0

  function push(chunk: string, at: number): Input[] {
    const found = settle(at)
    let text = pending + chunk
    pending = ''
    while (text !== '') {
      if (text[0] !== ESCAPE) {
        const end = text.indexOf(ESCAPE)
        found.push(...readText(end < 0 ? text : text.slice(0, end), at))
        text = end < 0 ? '' : text.slice(end)
        continue
      }
      const sequence = parseSequence(text)
      if (sequence.state === 'partial') {
        pending = text
        pendingSince = at
        return found
      }
      // After a key, Enter is one of a person.
      enteredAt = Number.NEGATIVE_INFINITY
      if (sequence.state === 'alone') found.push({ kind: 'key', key: 'escape' })
      if (sequence.state === 'complete' && sequence.key) found.push({ kind: 'key', key: sequence.key })
      text = text.slice(sequence.state === 'alone' ? 1 : sequence.length)
    }
    return found
  }

  function settle(at: number): Input[] {
    const waited = at - pendingSince
    if (pending === ESCAPE && waited >= ALONE_MS) {
      pending = ''
      return [{ kind: 'key', key: 'escape' }]
    }
    if (pending !== '' && waited >= BROKEN_MS) pending = ''
    return []
  }

  function readText(text: string, at: number): Input[] {
    const found: Input[] = []
    for (const character of text) {
      if (character === '\u0003') found.push({ kind: 'key', key: 'interrupt' })
      else if (character === '\r' || character === '\n') found.push(...readEnter(at))
      else if (character === '\u007F' || character === '\b') line = [...line].slice(0, -1).join('')
      else if (line.length < LONGEST_LINE) {
        if (line === '') lineStartedAt = at
        line += character
      }
    }
    return found
  }

  function readEnter(at: number): Input[] {
    const isSame = at - enteredAt < SAME_ENTER_MS
    enteredAt = at
    if (line === '') return isSame ? [] : [{ kind: 'key', key: 'enter' }]
    const text = line
    line = ''
    return [{ kind: 'line', text, isTyped: at - lineStartedAt > TYPED_MS_PER_CHARACTER * text.length }]
  }

  return {
    push,
    settle,
    get typed() {
      return line
    },
    clear() {
      line = ''
    },
  }
}

/** Keys of a terminal that the console listens to. There are no bare letters among them: payloads type those. */
type Key =
  | 'search'
  | 'undo'
  | 'override'
  | 'group'
  | 'lock'
  | 'up'
  | 'down'
  | 'escape'
  | 'enter'
  /** Ctrl-C. */
  | 'interrupt'

/** Escape sequences without their ESC, as xterm, VT220, rxvt and the Linux console send them. */
const sequences: Readonly<Record<string, Key>> = {
  OQ: 'search',
  '[12~': 'search',
  '[[B': 'search',
  OR: 'undo',
  '[13~': 'undo',
  '[[C': 'undo',
  OS: 'override',
  '[14~': 'override',
  '[[D': 'override',
  '[15~': 'group',
  '[[E': 'group',
  '[19~': 'lock',
  '[A': 'up',
  OA: 'up',
  '[B': 'down',
  OB: 'down',
}

/** What stands at the start of a text that begins with ESC. */
export type Sequence =
  /** A whole sequence of that many characters, ESC included; the key is undefined where it means nothing here. */
  | { state: 'complete'; length: number; key: Key | undefined }
  /** More is to come. */
  | { state: 'partial' }
  /** That many characters, ESC included, belong to something broken; what follows does not. */
  | { state: 'broken'; length: number }
  /** An ESC with ordinary text after it: the Escape key. */
  | { state: 'alone' }

/**
 * The escape sequence at the start of a text. Only CSI and SS3 count: no terminal sends a control string (OSC, DCS)
 * unasked, and scanners do send "]C1" in front of a payload, which after an Escape key would look like one.
 */
function parseSequence(text: string): Sequence {
  const introducer = text[1]
  if (introducer === undefined) return { state: 'partial' }
  if (introducer === 'O') {
    if (text.length < 3) return { state: 'partial' }
    return /[@-~]/.test(text[2]!) ? complete(text.slice(0, 3)) : { state: 'broken', length: 2 }
  }
  if (introducer !== '[') return { state: 'alone' }
  const [prefix] = /^.\[(?:\[|[0-?]*[ -/]*)/s.exec(text)!
  const final = text[prefix.length]
  if (final === undefined) return { state: 'partial' }
  return /[@-~]/.test(final) ? complete(text.slice(0, prefix.length + 1)) : { state: 'broken', length: prefix.length }
}

function complete(sequence: string): Sequence {
  return { state: 'complete', length: sequence.length, key: sequences[sequence.slice(1)] }
}
