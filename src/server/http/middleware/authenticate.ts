import type { H3Event } from 'h3'
import { ApiError } from '../../../core/errors.ts'
import type { Route } from '../../../core/route.ts'
import { isWellFormedToken, tokenDigest } from '../../../core/rules/crypto/token.ts'
import { type Grant, permissionsFor } from '../../../core/rules/people/person-roles.ts'
import type { Store } from '../../../storage/store.ts'
import type { TokenWithWorkspace } from '../../../storage/workspaces/tokens-repository.ts'
import type { Logger } from '../../log.ts'
import { createCallerCache, createUseNotes } from './caller-cache.ts'
import { noteCaller } from './observe.ts'

/** The caller of a request: a token, or a person with a session. */
export interface Caller extends TokenWithWorkspace {
  /** The session of a person. Omitted for a token. */
  session?: CallerSession
}

export interface CallerSession {
  id: string
  /** The roles of the person in the workspace. A request has the permissions of those roles that permit its route. */
  grants: readonly Grant[]
  /**
   * The token that a request must contain to change data. Other sites can make a browser send requests with cookies,
   * but do not know this token. Null if the session is not in a cookie, because other sites cannot use such a session.
   */
  csrfToken: string | null
}

export interface AuthenticateOptions {
  /** Whether to accept the session of a person in a suspended or expired workspace; false by default. */
  acceptsClosed?: boolean
}

/**
 * Returns the caller to whom the credentials in the headers belong.
 * @throws ApiError UNAUTHORIZED, TOKEN_INVALID, TOKEN_EXPIRED, TENANT_SUSPENDED, TENANT_EXPIRED
 */
export type Authenticate = (headers: Headers, at: Date, options?: AuthenticateOptions) => Promise<Caller>

/** Creates the authentication by tokens, with a cache. A malformed token does not cause a read of the database. */
export function createAuthenticate(store: Store, log: Logger): Authenticate {
  const find = createCallerCache((digest) => store.tokens.findByDigest(digest))
  const noteUse = createUseNotes(
    ({ workspaceId, id }, at) => store.statement((tx) => tx.tokens.setLastUsed(workspaceId, id, at)),
    (err, { id }) => log.warn({ err, tokenId: id }, 'could not store when a token was last used'),
  )

  return async (headers, at) => {
    const text = credentialIn(headers)
    if (!isWellFormedToken(text)) throw new ApiError('TOKEN_INVALID', { forLog: { reason: 'malformed' } })
    const digest = tokenDigest(text)
    const token = await find(digest, at)
    // The prefix of the digest shows whether a client sends one wrong token or guesses many. The prefix does not help
    // to find a valid token.
    if (!token) throw new ApiError('TOKEN_INVALID', { forLog: { reason: 'unknown', digest: digest.slice(0, 8) } })
    const whose = { tokenId: token.id, workspaceId: token.workspaceId }
    if (token.revokedAt) throw new ApiError('TOKEN_INVALID', { forLog: { reason: 'revoked', ...whose } })
    if (token.expiresAt && at >= token.expiresAt) throw new ApiError('TOKEN_EXPIRED', { forLog: whose })
    requireOpen(token.workspace, at, whose)
    if (!token.door && !store.isFrozen) noteUse(token, at)
    return token
  }
}

export interface CallerOptions {
  authenticate: Authenticate
  /** Counts a request without a valid token or session against the limit of its address, because it can be a guess. */
  limitAddress: (event: H3Event) => void
}

/** Returns the caller of a request, and stores it for the log. @throws the errors of `authenticate`; RATE_LIMITED */
export async function identifyCaller(
  event: H3Event,
  { authenticate, limitAddress }: CallerOptions,
  at: Date,
  options?: AuthenticateOptions,
): Promise<Caller> {
  const caller = await authenticate(event.req.headers, at, options).catch((error: unknown) => {
    // Count only missing and wrong tokens. Other errors, for example of the database, are not guesses.
    if (error instanceof ApiError && error.status === 401) limitAddress(event)
    throw error
  })
  noteCaller(event, caller)
  return caller
}

/** @throws ApiError TENANT_SUSPENDED, TENANT_EXPIRED for a workspace that is suspended or expired */
export function requireOpen(
  { suspendedAt, expiresAt }: Pick<TokenWithWorkspace['workspace'], 'suspendedAt' | 'expiresAt'>,
  at: Date,
  forLog: Record<string, unknown>,
): void {
  if (suspendedAt) throw new ApiError('TENANT_SUSPENDED', { forLog })
  if (expiresAt && at >= expiresAt) throw new ApiError('TENANT_EXPIRED', { forLog })
}

/**
 * Checks that a caller has the permission for a route. Returns the caller with its permissions. A person with several
 * roles gets only the permissions of the roles that permit the route.
 * @throws ApiError FORBIDDEN with the missing permission in its details
 */
export function authorize(
  caller: Caller,
  route: Pick<Route, 'scope' | 'role' | 'forDoors' | 'forDoorLeads'>,
): TokenWithWorkspace {
  const token = caller.session ? { ...caller, ...permissionsFor(caller.session.grants, route) } : caller
  const noun = caller.session ? 'role' : 'token'
  if (route.scope && !token.scopes.includes(route.scope)) {
    throw new ApiError('FORBIDDEN', {
      message: `The ${noun} lacks the scope ${route.scope}.`,
      details: { scope: route.scope },
    })
  }
  if (token.door && !route.forDoors)
    throw new ApiError('FORBIDDEN', { message: 'The token of a door cannot access this endpoint.' })
  if (route.role === 'owner' && token.role !== 'owner' && !token.door) {
    throw new ApiError('FORBIDDEN', {
      message: `This endpoint requires the ${noun} of an owner.`,
      details: { role: 'owner' },
    })
  }
  return token
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
