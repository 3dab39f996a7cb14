/** Quotes a word for a POSIX shell if it needs quotes, so that a person can paste a suggested command. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
