import { type Key, parseSequence } from './keys.ts'

export type Input =
  /** Text that ended with Enter. A scanner types it at once; a person takes his time. */
  { kind: 'line'; text: string; isTyped: boolean } | { kind: 'key'; key: Key }

export interface InputReader {
  /** Takes what the terminal sent, in pieces of any size; `at` is in milliseconds. */
  push(chunk: string, at: number): Input[]
  /** To be called when nothing has come for a while: an ESC with nothing behind it was the Escape key. */
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
      // Behind a key, Enter is one of a person.
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
