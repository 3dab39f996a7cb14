import { ApiError } from '../../../core/errors.ts'
import type { Route } from '../../../core/route.ts'
import { isWellFormedToken, tokenDigest } from '../../../core/rules/crypto/token.ts'
import type { Store } from '../../../storage/store.ts'
import type { TokenWithWorkspace } from '../../../storage/workspaces/tokens-repository.ts'
import type { Logger } from '../../log.ts'

/**
 * Returns the token of a request.
 * @throws ApiError UNAUTHORIZED, TOKEN_INVALID, TOKEN_EXPIRED, TENANT_SUSPENDED, TENANT_EXPIRED
 */
export type Authenticate = (headers: Headers, at: Date) => Promise<TokenWithWorkspace>

/** The lifetime of cached tokens. A revocation must take effect within two seconds. */
const CACHE_MS = 1_000
const MAX_CACHED = 10_000
const LAST_USED_MS = 60_000

/** Creates an authentication with a cache. Malformed tokens cause no database read. */
export function createAuthenticate(store: Store, log: Logger): Authenticate {
  const cache = new Map<string, { token: TokenWithWorkspace; readAt: number }>()
  const reading = new Map<string, Promise<TokenWithWorkspace | undefined>>()
  const lastUsed = new Map<string, number>()

  async function find(digest: string, at: Date): Promise<TokenWithWorkspace | undefined> {
    const cached = cache.get(digest)
    const age = cached ? at.getTime() - cached.readAt : Number.NaN
    // Ignore an entry from the future, so that a clock that was set back does not keep an old entry.
    if (cached && age >= 0 && age < CACHE_MS) return cached.token
    const token = await read(digest)
    // Do not cache invalid tokens, so that they do not evict valid tokens from the cache.
    if (!token) return undefined
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(digest, { token, readAt: at.getTime() })
    return token
  }

  /** Reads a token once for concurrent requests, such as streams that check it at the same time. */
  function read(digest: string): Promise<TokenWithWorkspace | undefined> {
    const known = reading.get(digest)
    if (known) return known
    const found = store.tokens.findByDigest(digest).finally(() => reading.delete(digest))
    reading.set(digest, found)
    return found
  }

  function noteUse(token: TokenWithWorkspace, at: Date): void {
    const previous = lastUsed.get(token.id) ?? token.lastUsedAt?.getTime() ?? 0
    if (Math.abs(at.getTime() - previous) < LAST_USED_MS) return
    if (lastUsed.size >= MAX_CACHED) lastUsed.clear()
    lastUsed.set(token.id, at.getTime())
    store
      .statement((tx) => tx.tokens.setLastUsed(token.workspaceId, token.id, at))
      .catch((error) => log.warn({ err: error, tokenId: token.id }, 'could not store when a token was last used'))
  }

  return async (headers, at) => {
    const text = credentialIn(headers)
    if (!isWellFormedToken(text)) throw new ApiError('TOKEN_INVALID', { forLog: { reason: 'malformed' } })
    const digest = tokenDigest(text)
    const token = await find(digest, at)
    // Log a prefix of the digest, which shows whether a client guesses one token or many. The prefix does not help to
    // find a valid token.
    if (!token) throw new ApiError('TOKEN_INVALID', { forLog: { reason: 'unknown', digest: digest.slice(0, 8) } })
    const whose = { tokenId: token.id, workspaceId: token.workspaceId }
    if (token.revokedAt) throw new ApiError('TOKEN_INVALID', { forLog: { reason: 'revoked', ...whose } })
    if (token.expiresAt && at >= token.expiresAt) throw new ApiError('TOKEN_EXPIRED', { forLog: whose })
    if (token.workspace.suspendedAt) throw new ApiError('TENANT_SUSPENDED', { forLog: whose })
    if (token.workspace.expiresAt && at >= token.workspace.expiresAt) {
      throw new ApiError('TENANT_EXPIRED', { forLog: whose })
    }
    if (!token.door && !store.isFrozen) noteUse(token, at)
    return token
  }
}

/** Checks that a token can call a route. @throws ApiError FORBIDDEN with the missing permission in its details */
export function authorize(token: TokenWithWorkspace, route: Pick<Route, 'scope' | 'role' | 'forDoors'>): void {
  if (route.scope && !token.scopes.includes(route.scope)) {
    throw new ApiError('FORBIDDEN', {
      message: `The token lacks the scope ${route.scope}.`,
      details: { scope: route.scope },
    })
  }
  if (token.door && !route.forDoors)
    throw new ApiError('FORBIDDEN', { message: 'The token of a door cannot access this endpoint.' })
  if (route.role === 'owner' && token.role !== 'owner' && !token.door) {
    throw new ApiError('FORBIDDEN', {
      message: 'This endpoint requires the token of an owner.',
      details: { role: 'owner' },
    })
  }
}

function credentialIn(headers: Headers): string {
  const authorization = headers.get('authorization')
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  const apiKey = headers.get('x-api-key')?.trim()
  if (authorization !== null && bearer === undefined) {
    throw new ApiError('TOKEN_INVALID', { message: 'The Authorization header must be: Bearer <token>.' })
  }
  if (bearer !== undefined && apiKey && bearer !== apiKey) {
    throw new ApiError('TOKEN_INVALID', { message: 'Authorization and X-API-Key contain different tokens. Send one.' })
  }
  const text = bearer ?? apiKey
  if (!text) {
    throw new ApiError('UNAUTHORIZED', {
      message: 'Send the access token as Authorization: Bearer <token> or X-API-Key.',
    })
  }
  return text
}
