/** The maximum length of an address (RFC 5321). */
const MAX_CHARACTERS = 254

/**
 * Returns an email address in the form in which addresses are compared: ASCII letters in lower case, and others
 * unchanged. (Some others have an ASCII letter as their lower case, which would make two addresses equal.)
 * @returns undefined if the text is not an address
 */
export function comparableEmail(text: string): string | undefined {
  if (text.length > MAX_CHARACTERS || !/^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u.test(text)) return undefined
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}
