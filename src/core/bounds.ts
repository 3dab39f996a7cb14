const LONE_SURROGATE_OR_NUL = /[\0\p{Surrogate}]/u

export function codePointLength(text: string): number {
  let length = text.length
  for (const char of text) if (char.length === 2) length -= 1
  return length
}

/** Whether a text has no NUL and no lone surrogates. Databases do not store these characters unchanged. */
export function isWellFormedText(text: string): boolean {
  return !LONE_SURROGATE_OR_NUL.test(text)
}

/** The maximum length of a barcode's content, in code points. */
export const MAX_PAYLOAD_CHARACTERS = 2048

export function isPayload(text: string): boolean {
  return text !== '' && isWellFormedText(text) && codePointLength(text) <= MAX_PAYLOAD_CHARACTERS
}

/**
 * The maximum number of decisions in a small upload, which takes precedence over larger uploads. A door that reconnects
 * between two scans can upload its last decisions within this limit.
 */
export const MAX_LOCKED_REPORTS = 10

/** The start of the year 0 in UTC, in milliseconds. ISO 8601 parsers require a year of four digits. */
export const EARLIEST_MOMENT = Date.parse('0000-01-01T00:00:00Z')
export const LATEST_MOMENT = Date.UTC(10_000, 0)

/** The maximum absolute value of a balance, and of a change of a balance. */
export const MAX_AMOUNT = 1_000_000_000_000
