const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** A webServiceURL without the slash at its end, or what keeps phones from asking there. Those of the sandbox ask this machine, too. */
export function parseMoveTarget(text: string): { url: string } | { problem: string } {
  if (!URL.canParse(text)) return { problem: 'is not an address such as https://passes.example.com/apple' }
  const { protocol, hostname, username, password, search, hash, pathname, origin } = new URL(text)
  if (protocol !== 'https:' && !(protocol === 'http:' && LOOPBACK.test(hostname))) {
    return { problem: 'must begin with https://, which is all that phones ask' }
  }
  if (username !== '' || password !== '') return { problem: 'must not hold a user or a password' }
  if (search !== '' || hash !== '') return { problem: 'must end with its path: phones put theirs behind it' }
  const path = pathname.replace(/\/+$/, '')
  if (/\/v1$/.test(path)) return { problem: 'must not end with /v1, which phones put behind it' }
  return { url: `${origin}${path}` }
}
