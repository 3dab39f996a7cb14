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

/** A scanner may end a payload with CR LF, with Tab and Enter, or with two Enters. */
const SAME_ENTER_MS = 100
/** An Escape key stands alone; the rest of a sequence follows its ESC at once, even over a network. */
const ALONE_MS = 100
/** After that the rest of a sequence will not come any more. */
const BROKEN_MS = 500
/** A person needs 80 ms a key and more; the slowest scanners 20. */
const TYPED_MS_PER_CHARACTER = 35
const LONGEST_LINE = 100_000
/** From the separators of GS1 on. Ctrl-L, Ctrl-Z and others of a hand would spoil the payload that follows, and are not seen. */
const FIRST_OF_PAYLOAD = '\u001C'

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
      // How many scanners end a payload that go from field to field of a form.
      else if (character === '\t' && line !== '') found.push(...readEnter(at))
      else if (character === '\u007F' || character === '\b') line = [...line].slice(0, -1).join('')
      else if (line.length < LONGEST_LINE && (line !== '' || character >= FIRST_OF_PAYLOAD)) {
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
export type Key =
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
type Sequence =
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
