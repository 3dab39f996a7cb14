/**
 * The names of cookies. The prefix makes browsers accept a cookie only over https, from this host, and for all of its
 * paths, so that no other host and no page over http can set or shadow it.
 */
export const SESSION_COOKIE = '__Host-passes-session'
export const SIGN_IN_COOKIE = '__Host-passes-sign-in'

type CookieName = typeof SESSION_COOKIE | typeof SIGN_IN_COOKIE

/** Returns the value of a cookie of a request. */
export function readCookie(headers: Headers, name: CookieName): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const [key, value = ''] = pair.split('=', 2)
    if (key!.trim() === name) return value.trim()
  }
  return undefined
}

/** Returns the Set-Cookie header of a cookie. Scripts cannot read it. From other sites, only links send it. */
export function setCookie(name: CookieName, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; Secure; SameSite=Lax`
}

export function clearCookie(name: CookieName): string {
  return setCookie(name, '', 0)
}
