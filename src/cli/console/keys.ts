/** Keys of a terminal that the console listens to. There are no bare letters among them: payloads type those. */
export type Key =
  | 'search'
  | 'undo'
  | 'override'
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
  '[19~': 'lock',
  '[A': 'up',
  OA: 'up',
  '[B': 'down',
  OB: 'down',
}

export type Sequence =
  /** A whole sequence of that many characters, ESC included; the key is undefined where it means nothing here. */
  | { state: 'complete'; length: number; key: Key | undefined }
  /** More is to come. */
  | { state: 'partial' }
  /** That many characters, ESC included, belong to something broken; what follows does not. */
  | { state: 'broken'; length: number }
  /** An ESC with ordinary text behind it: the Escape key. */
  | { state: 'alone' }

/**
 * The escape sequence at the start of a text. Only CSI and SS3 count: no terminal sends a control string (OSC, DCS)
 * unasked, and scanners do send "]C1" in front of a payload, which behind an Escape key would look like one.
 */
export function parseSequence(text: string): Sequence {
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
