/** The maximum length of an address (RFC 5321). */
const MAX_CHARACTERS = 254

/**
 * Returns the form of an email address for comparisons: ASCII letters in lower case, and other characters unchanged.
 * (`toLowerCase` would make different addresses equal, because it converts the Kelvin sign to the letter k.)
 * @returns undefined if the text is not an address
 */
export function comparableEmail(text: string): string | undefined {
  if (text.length > MAX_CHARACTERS || !/^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u.test(text)) return undefined
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}
