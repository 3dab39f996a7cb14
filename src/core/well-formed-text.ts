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
