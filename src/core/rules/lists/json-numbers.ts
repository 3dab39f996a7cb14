import type { Issue } from '../../errors.ts'

/**
 * Matches the start of a number that `JSON.parse` might change: 16 digits before the point, or an exponent. Can also
 * match text inside a string. A text without a match needs no further check.
 */
const SUSPECT = /(?:^|[:,[\s])-?(?:\d{16}|\d[\d.]*[eE])/

/**
 * Yields the numbers of a well-formed JSON text that JSON readers might change, with their paths. Integers beyond 2^53
 * lose digits, and numbers that are too large for a double become null.
 */
export function* findLossyNumbers(json: string): Generator<Issue> {
  if (!SUSPECT.test(json)) return
  for (const { text, path } of numbersIn(json)) {
    if (!isLossy(text)) continue
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
    yield { path: path(), message: `Is ${shown}, a number that JSON readers can change: send it as text, in quotes` }
  }
}

function isLossy(text: string): boolean {
  const value = Number(text)
  if (!Number.isFinite(value)) return true
  // Accept a number with a point or an exponent, because every reader parses it as the same double.
  if (/[.eE]/.test(text)) return false
  return Math.abs(value) > 2 ** 53 || /^-?9007199254740993$/.test(text)
}

/** An enclosing object or list: its current key or index. */
interface Level {
  key: string | number
}

const NUMBER = /-?\d[\d.eE+-]*/y

/** Yields the numbers of a JSON text. Reads the text, because parsed values no longer have the original digits. */
function* numbersIn(json: string): Generator<{ text: string; path: () => (string | number)[] }> {
  const levels: Level[] = []
  const path = () => levels.map(({ key }) => (typeof key === 'string' ? (JSON.parse(key) as string) : key))
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at]!
    const level = levels.at(-1)
    if (char === '"') {
      const end = endOfString(json, at)
      // Record an object key for the path of the value that follows it. Skip any other string.
      if (typeof level?.key === 'string' && isKey(json, end)) level.key = json.slice(at, end)
      at = end - 1
    } else if (char === '{') levels.push({ key: '""' })
    else if (char === '[') levels.push({ key: 0 })
    else if (char === '}' || char === ']') levels.pop()
    else if (char === ',' && typeof level?.key === 'number') level.key += 1
    else if (char === '-' || (char >= '0' && char <= '9')) {
      NUMBER.lastIndex = at
      const [text] = NUMBER.exec(json)!
      yield { text, path }
      at += text.length - 1
    }
  }
}

/**
 * Returns the index after the closing quote of the string that starts at `start`. A quote after an odd number of
 * backslashes is part of the string. Returns the length of the text if the string does not end.
 */
export function endOfString(json: string, start: number): number {
  for (let quote = start; ; ) {
    quote = json.indexOf('"', quote + 1)
    if (quote === -1) return json.length
    let backslashes = 0
    while (json[quote - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
  }
}

function isKey(json: string, end: number): boolean {
  let at = end
  while (' \t\n\r'.includes(json[at]!)) at += 1
  return json[at] === ':'
}
