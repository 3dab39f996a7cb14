/** Input from the terminal: a line that ended with Enter, or a non-text key. */
export type Input = { kind: 'line'; text: string; isTyped: boolean } | { kind: 'key'; key: Key }

/**
 * The time within which several Enter keys count as one, because scanners can end a payload with CR LF, Tab and Enter,
 * or two Enters.
 */
const SAME_ENTER_MS = 100
/** The time after which a single ESC is the Escape key. The rest of a sequence arrives sooner, even over a network. */
const ESCAPE_TIMEOUT_MS = 100
/** The time after which an incomplete escape sequence is discarded. */
const BROKEN_MS = 500
/**
 * The average time per character above which input counts as typed. Typing takes at least 80 ms per key, and the
 * slowest scanners take 20 ms.
 */
const TYPED_MS_PER_CHARACTER = 35
const BY_HAND_MS = 80
/** The longest gap between two characters of a scan, for example on a slow network. */
const PAUSE_MS = 300
const LONGEST_LINE = 100_000
/**
 * The lowest character that can start a payload. U+001C to U+001F are separators of GS1. Lower control characters, such
 * as Ctrl-L and Ctrl-Z, are ignored before a payload. Otherwise, they would silently corrupt the payload.
 */
const FIRST_OF_PAYLOAD = '\u001C'

const ESCAPE = '\u001B'

/**
 * Creates a reader that turns terminal input into lines and keys, and reports each before it reads on. A hardware
 * scanner types the payload and Enter, often in one chunk with other input. Therefore, chunk boundaries have no
 * meaning, and escape sequences never become part of a line.
 *
 * A scan is a burst of characters that ends with Enter. Characters that were typed before the scan are not part of it.
 * A pause separates them: 300 ms, or 80 ms if they arrived one at a time.
 */
export function createInputReader(report: (input: Input) => void) {
  /** The text before the last pause. */
  let earlier = ''
  /** The text since the last pause: a scan, or recently typed keys. */
  let recent = ''
  let recentSince = 0
  /** The characters at the end of `recent` that arrived in quick succession. */
  let burst = { length: 0, since: 0, followsOne: false }
  let characterAt = Number.NEGATIVE_INFINITY
  let enteredAt = Number.NEGATIVE_INFINITY
  let now = 0
  /** An incomplete escape sequence. */
  let pending = ''
  let pendingSince = 0

  /**
   * Reads input in chunks of any size. `at` is in milliseconds, on a clock that counts only the time spent waiting
   * for input.
   */
  function push(chunk: string, at: number): void {
    settle(at)
    let text = pending + chunk
    pending = ''
    while (text !== '') {
      if (text[0] !== ESCAPE) {
        const end = text.indexOf(ESCAPE)
        readText(end < 0 ? text : text.slice(0, end))
        text = end < 0 ? '' : text.slice(end)
        continue
      }
      const sequence = parseSequence(text)
      if (sequence.state === 'partial') {
        pending = text
        pendingSince = at
        return
      }
      // Do not skip an Enter after a special key as a repetition of an earlier Enter, because a person pressed both
      // keys.
      enteredAt = Number.NEGATIVE_INFINITY
      if (sequence.state === 'bare') report({ kind: 'key', key: 'escape' })
      if (sequence.state === 'complete' && sequence.key) report({ kind: 'key', key: sequence.key })
      text = text.slice(sequence.state === 'bare' ? 1 : sequence.length)
    }
  }

  /** Reports the Escape key if nothing has followed its ESC character. Call this function regularly. */
  function settle(at: number): void {
    now = at
    const waited = at - pendingSince
    if (pending === ESCAPE && waited >= ESCAPE_TIMEOUT_MS) {
      pending = ''
      report({ kind: 'key', key: 'escape' })
    } else if (pending !== '' && waited >= BROKEN_MS) pending = ''
  }

  function readText(text: string): void {
    for (const character of text) {
      if (character === '\u0003') report({ kind: 'key', key: 'interrupt' })
      else if (character === '\r' || character === '\n') readEnter()
      // Treat Tab after text like Enter, because many scanners end a payload with Tab, to move between form fields.
      else if (character === '\t' && earlier + recent !== '') readEnter()
      else if (character === '\u007F' || character === '\b') eraseCharacter()
      else if (recent.length < LONGEST_LINE && (earlier + recent !== '' || character >= FIRST_OF_PAYLOAD))
        readCharacter(character)
    }
  }

  function readCharacter(character: string): void {
    const gap = now - characterAt
    characterAt = now
    // Two bursts of one character in a row mean that a person types. One such burst does not, because a slow network
    // can pause a scan once, even after the first character.
    const isByHand = gap >= BY_HAND_MS && burst.length === 1 && burst.followsOne
    if (gap >= PAUSE_MS || isByHand) {
      earlier = (earlier + recent).slice(0, LONGEST_LINE)
      recent = ''
    }
    if (recent === '') recentSince = now
    if (gap >= BY_HAND_MS) {
      burst = { length: 0, since: now, followsOne: gap < PAUSE_MS && burst.length === 1 }
    }
    burst.length += 1
    recent += character
  }

  function eraseCharacter(): void {
    if (recent === '') earlier = [...earlier].slice(0, -1).join('')
    else recent = [...recent].slice(0, -1).join('')
  }

  function readEnter(): void {
    const isSame = now - enteredAt < SAME_ENTER_MS
    enteredAt = now
    characterAt = Number.NEGATIVE_INFINITY
    if (recent === '' && (isSame || earlier === '')) {
      if (!isSame) report({ kind: 'key', key: 'enter' })
      return
    }
    const isFast = (since: number, length: number) => now - since <= TYPED_MS_PER_CHARACTER * length
    const isTyped = recent === '' || !(isFast(burst.since, burst.length) || isFast(recentSince, recent.length))
    const text = isTyped ? earlier + recent : recent
    if (isTyped) earlier = ''
    recent = ''
    report({ kind: 'line', text, isTyped })
  }

  return {
    push,
    settle,
    /** The text that is not ended with Enter yet. Text that a person typed before a scan is kept after the scan. */
    get typed() {
      return earlier + recent
    },
    /** Discards the text, except for a scan that is still arriving. */
    clear() {
      earlier = ''
      if (now - characterAt >= BY_HAND_MS) recent = ''
    },
  }
}

/** Keys that the console handles: no letters, because payloads contain letters. */
export type Key =
  | 'search'
  | 'undo'
  | 'override'
  | 'group'
  | 'direction'
  | 'confirm'
  | 'lock'
  | 'up'
  | 'down'
  | 'escape'
  | 'enter'
  | 'interrupt'

/** Escape sequences without their ESC, as xterm, VT220, rxvt, and the Linux console send them. */
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
  '[17~': 'direction',
  '[20~': 'confirm',
  '[19~': 'lock',
  '[A': 'up',
  OA: 'up',
  '[B': 'down',
  OB: 'down',
}

type Sequence =
  /** A complete sequence with its length, including ESC. `key` is `undefined` if the console does not handle it. */
  | { state: 'complete'; length: number; key: Key | undefined }
  | { state: 'partial' }
  | { state: 'broken'; length: number }
  /** An ESC followed by ordinary text: the Escape key. */
  | { state: 'bare' }

/**
 * Parses the escape sequence at the start of a text. Accepts only CSI and SS3. Terminals send no unsolicited control
 * strings (OSC, DCS), but a scan with the prefix "]C1" after the Escape key would look like an OSC string.
 */
function parseSequence(text: string): Sequence {
  const introducer = text[1]
  if (introducer === undefined) return { state: 'partial' }
  if (introducer === 'O') {
    if (text.length < 3) return { state: 'partial' }
    return /[@-~]/.test(text[2]!) ? complete(text.slice(0, 3)) : { state: 'broken', length: 2 }
  }
  if (introducer !== '[') return { state: 'bare' }
  const [prefix] = /^.\[(?:\[|[0-?]*[ -/]*)/s.exec(text)!
  const final = text[prefix.length]
  if (final === undefined) return { state: 'partial' }
  return /[@-~]/.test(final) ? complete(text.slice(0, prefix.length + 1)) : { state: 'broken', length: prefix.length }
}

function complete(sequence: string): Sequence {
  return { state: 'complete', length: sequence.length, key: sequences[sequence.slice(1)] }
}
