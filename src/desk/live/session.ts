import { ApiRejection, requireOk, type Session } from './desk-api.ts'

/** Returns whether people can sign in at this server. If they can, the server adds an element to the page. */
export function canSignIn(): boolean {
  return document.querySelector('meta[name="passes-sign-in"]') !== null
}

/** Returns the address of the sign-in, which leads the person back to this view. */
export function signInAddress(): string {
  return `./desk/login?${new URLSearchParams({ return: location.search + location.hash })}`
}

/** @throws ApiRejection, such as for a suspended workspace, or an error of fetch if this server does not respond */
export async function findSession(): Promise<Session | null> {
  if (!canSignIn()) return null
  const answer = await fetch('./desk/session', { cache: 'no-store', redirect: 'error' })
  if (answer.status === 401) return null
  return (await requireOk(answer)).json()
}

/**
 * Updates the session of this tab if the same person has signed in again to the workspace in another tab, so that later
 * requests have the CSRF token of the new session.
 * @throws the errors of `findSession`
 */
export async function renewSession(own: Session): Promise<void> {
  const session = await findSession()
  if (session?.email === own.email && session.workspace.id === own.workspace.id) Object.assign(own, session)
}

/**
 * Ends the session of this browser, even if another tab started it. Returns the address at which the person also signs
 * out of the identity provider; `null` if the provider has none.
 * @param own the session of this tab
 * @throws an error of fetch if the server did not confirm the end
 */
export async function signOut(own: Session): Promise<string | null> {
  const session = await findSession().catch((error: unknown) => {
    // In a suspended or expired workspace, the server rejects all requests of the session except the sign-out.
    if (error instanceof ApiRejection && error.status === 403) return own
    throw error
  })
  if (session === null) return null
  const headers = { 'x-csrf-token': session.csrfToken }
  const answer = await fetch('./desk/logout', { method: 'POST', headers, cache: 'no-store', redirect: 'error' })
  if (answer.ok) return (await answer.json()).providerLogoutUrl
  if (answer.status === 401) return null
  throw new TypeError(`The server responded to the sign-out with ${answer.status}`)
}
