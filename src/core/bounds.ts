const LONE_SURROGATE_OR_NUL = /[\0\p{Surrogate}]/u

/** Characters of a text as people count them, but for those that several code points make: a surrogate pair is one. */
export function codePointLength(text: string): number {
  let length = text.length
  for (const char of text) if (char.length === 2) length -= 1
  return length
}

/** False for NUL and lone surrogates: no database stores them faithfully. */
export function isWellFormedText(text: string): boolean {
  return !LONE_SURROGATE_OR_NUL.test(text)
}

/** The longest payload of a code, in code points. */
export const MAX_PAYLOAD_CHARACTERS = 2048

/** Whether something that was read may be the code of a pass. */
export function isPayload(text: string): boolean {
  return text !== '' && isWellFormedText(text) && codePointLength(text) <= MAX_PAYLOAD_CHARACTERS
}

/** So few decisions in one report somebody may wait for: a door that comes back hands in its last ones between two scans. */
export const FEW_REPORTS = 10

/** Years stay within four digits in UTC too: ISO 8601 writes others in a form that many readers refuse. */
export const EARLIEST_MOMENT = Date.parse('0000-01-01T00:00:00Z')
/** The first moment that no timestamp with a year of four digits can name, in milliseconds. */
export const LATEST_MOMENT = Date.UTC(10_000, 0)
