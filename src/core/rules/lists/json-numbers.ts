import type { Issue } from '../../errors.ts'

/**
 * Where a number may stand that `JSON.parse` would change: 16 digits before the point, or an exponent. It may also find
 * text inside a string; what it does not find needs no closer look.
 */
const SUSPECT = /(?:^|[:,[\s])-?(?:\d{16}|\d[\d.]*[eE])/

/**
 * The numbers of a well-formed JSON text that no reader of JSON can be trusted with, each with its path: those written as
 * whole ones beyond 2^53, which lose digits, and those that are too large for a double, which come out as null.
 */
export function* findLossyNumbers(json: string): Generator<Issue> {
  if (!SUSPECT.test(json)) return
  for (const { text, path } of numbersIn(json)) {
    if (!isLossy(text)) continue
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
    yield { path: path(), message: `Is ${shown}, a number that JSON does not carry safely; send it as text, in quotes` }
  }
}

function isLossy(text: string): boolean {
  const value = Number(text)
  if (!Number.isFinite(value)) return true
  // One with a point or an exponent is meant as a double, which every reader makes the same of.
  if (/[.eE]/.test(text)) return false
  return Math.abs(value) > 2 ** 53 || /^-?9007199254740993$/.test(text)
}

/** An object or list around a place: the key or index that it is at. */
interface Level {
  key: string | number
}

const NUMBER = /-?\d[\d.eE+-]*/y

/** Reads along the text once, since the parsed value no longer knows what was written. */
function* numbersIn(json: string): Generator<{ text: string; path: () => (string | number)[] }> {
  const levels: Level[] = []
  const path = () => levels.map(({ key }) => (typeof key === 'string' ? (JSON.parse(key) as string) : key))
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at]!
    const level = levels.at(-1)
    if (char === '"') {
      const end = endOfString(json, at)
      // In an object every string passes here, and a key before its value.
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
 * The place after the quote that ends the string which begins at a quote; one after an odd number of backslashes belongs
 * to it. The end of the text where it does not end.
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
