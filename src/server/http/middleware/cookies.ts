/**
 * The name of the session cookie. Its prefix makes browsers accept the cookie only over https, only from this host, and
 * for all paths. Otherwise, another host or a page over http could set or shadow the cookie.
 */
export const SESSION_COOKIE = '__Host-passes-session'
export const SIGN_IN_COOKIE = '__Host-passes-sign-in'

type CookieName = typeof SESSION_COOKIE | typeof SIGN_IN_COOKIE

export function readCookie(headers: Headers, name: CookieName): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const [key, value = ''] = pair.split('=', 2)
    if (key!.trim() === name) return value.trim()
  }
  return undefined
}

/**
 * Returns the Set-Cookie header of a cookie. Scripts cannot read the cookie. A request from another site contains the
 * cookie only if the user follows a link.
 */
export function setCookie(name: CookieName, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; Secure; SameSite=Lax`
}

export function clearCookie(name: CookieName): string {
  return setCookie(name, '', 0)
}
