import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../../core/errors.ts'
import { tokenDigest } from '../../../core/rules/crypto/token.ts'
import type { SessionWithPerson } from '../../../storage/people/sessions-repository.ts'
import type { Store } from '../../../storage/store.ts'
import type { Logger } from '../../log.ts'
import { type Authenticate, type Caller, requireOpen } from './authenticate.ts'
import { createCallerCache, createUseNotes } from './caller-cache.ts'
import { readCookie, SESSION_COOKIE } from './cookies.ts'
import { readingMethods } from './observe.ts'

/** The lifetime of a session, regardless of its use. */
export const SESSION_MS = 12 * 3_600_000

/** The time after its last request at which a session ends. */
const IDLE_MS = 3_600_000

/** The secret of a session in a cookie: 32 random bytes as base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

/** The Authorization header with a session token. The prefix `pss_` distinguishes the token from a cookie secret. */
const SESSION_TOKEN = /^Bearer +(pss_[A-Za-z0-9_-]{43}) *$/i

export function newSessionSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns a token for a session of the command line, which sends the token like an access token. */
export function newSessionToken(): string {
  return `pss_${newSessionSecret()}`
}

/**
 * Adds sessions of people to the authentication by tokens. The cookie of a request with a token is ignored.
 * @param issuer the current OpenID Connect provider; sessions of a previous provider are rejected
 */
export function withSessions(
  authenticate: Authenticate,
  { store, log, issuer }: { store: Store; log: Logger; issuer: string },
): Authenticate {
  const find = createCallerCache((digest) => store.sessions.findByDigest(digest))
  const noteUse = createUseNotes(
    ({ workspaceId, id }, at) => store.statement((tx) => tx.sessions.setLastUsed(workspaceId, id, at)),
    (err, { id }) => log.warn({ err, sessionId: id }, 'could not store when a session was last used'),
  )
  return async (headers, at, { acceptsClosed = false } = {}) => {
    const hasToken = headers.has('authorization') || headers.has('x-api-key')
    const cookie = hasToken ? undefined : readCookie(headers, SESSION_COOKIE)
    const token = headers.has('x-api-key') ? undefined : SESSION_TOKEN.exec(headers.get('authorization') ?? '')?.[1]
    const secret = token ?? cookie
    if (secret === undefined) return authenticate(headers, at)
    const session = token || SECRET.test(secret) ? await find(tokenDigest(secret), at) : undefined
    if (!session || session.person.issuer !== issuer || session.grants.length === 0) {
      throw new ApiError('TOKEN_INVALID', { message: 'The session has ended. Sign in again.' })
    }
    const whose = { personId: session.personId, workspaceId: session.workspaceId }
    const idleEnd = session.lastUsedAt.getTime() + IDLE_MS
    if (at >= session.expiresAt || at.getTime() >= idleEnd) {
      throw new ApiError('TOKEN_EXPIRED', { message: 'The session has expired. Sign in again.', forLog: whose })
    }
    if (!acceptsClosed) requireOpen(session.workspace, at, whose)
    if (!store.isFrozen) noteUse(session, at)
    return toCaller(session, cookie)
  }
}

/** Returns the caller of a session. The caller has no permissions until `authorize` adds those for a route. */
function toCaller(session: SessionWithPerson, cookie: string | undefined): Caller {
  const { person, grants, workspace, workspaceId, createdAt, expiresAt, lastUsedAt } = session
  return {
    id: session.personId,
    workspaceId,
    name: person.email,
    role: 'member',
    scopes: [],
    projectIds: [],
    createdAt,
    expiresAt,
    lastUsedAt,
    revokedAt: null,
    replacedBy: null,
    workspace,
    door: null,
    person: { subject: person.subject },
    session: { id: session.id, grants, csrfToken: cookie === undefined ? null : csrfTokenOf(cookie) },
  }
}

function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('csrf').digest('base64url')
}

/**
 * Checks the CSRF token of a request that can change data and whose session is in a cookie.
 * @throws ApiError CSRF_TOKEN_INVALID if the token is missing or wrong
 */
export function requireCsrfToken({ session }: Caller, { method, headers }: { method: string; headers: Headers }): void {
  if (!session?.csrfToken || readingMethods.has(method)) return
  const sent = Buffer.from(headers.get('x-csrf-token') ?? '')
  const expected = Buffer.from(session.csrfToken)
  if (sent.length === expected.length && timingSafeEqual(sent, expected)) return
  throw new ApiError('CSRF_TOKEN_INVALID')
}
