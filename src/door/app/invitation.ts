/**
 * The code of the invitation that the page was opened with, which is taken out of the address at once: neither the history nor
 * who looks at the phone is to have it. Null where there is none.
 */
export function takeInvitation(): string | null {
  const code = codeOf(location.hash)
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname + location.search)
  return code
}

/** The code in a link of an invitation, or the code itself; null where there is none. */
export function codeOf(text: string): string | null {
  const code = text.slice(text.indexOf('#') + 1).trim()
  return code === '' ? null : code
}
