/** Zero width: a phone shows nothing of them, and tells texts apart by them. */
const OPENING = '\u2060'
const DIGITS = ['\u200b', '\u200c'] as const

/**
 * The n-th message of a pass. A phone announces a field whose value is another now, so that a text which is sent twice
 * has to differ from itself, invisibly.
 */
export function distinctText(text: string, n: number): string {
  return text + OPENING + [...n.toString(2)].map((digit) => DIGITS[Number(digit)]).join('')
}
