import { ApiError } from '../../core/errors.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { tokenDigest } from '../../core/rules/crypto/token.ts'
import { comparableEmail } from '../../core/rules/people/email.ts'
import { personRoles } from '../../core/rules/people/person-roles.ts'
import type { ClaimedRole } from '../../storage/people/people-repository.ts'
import type { EndedSession } from '../../storage/people/sessions-repository.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { OidcConfig } from '../config.ts'
import { newSessionSecret, newSessionToken, SESSION_MS } from '../http/middleware/sessions.ts'
import type { ProviderClaims, SignInChecks } from './provider.ts'
import { openValue } from './sealed-values.ts'

/** A sign-in that waits for the provider. A cookie of the browser contains it, sealed with the server key. */
export interface PendingSignIn extends SignInChecks {
  /** The workspace that the person requested, by name or ID. */
  workspace?: string
  /** The query and the fragment of the desk to which the person returns. */
  view: string
  /** The command line that waits for the session; absent for a browser. */
  commandLine?: CommandLine
  startedAt: number
}

/** A command line that waits on loopback for the code of a sign-in (RFC 8252). */
export interface CommandLine {
  port: number
  state: string
  /** The SHA-256 of a secret of the command line, as base64url, so that only this command line can use the code. */
  challenge: string
}

/** The time for which a sign-in can be completed. */
export const SIGN_IN_SECONDS = 600

/** Returns the sign-in in a cookie; undefined if the cookie is missing, expired, or not sealed by this installation. */
export function openSignIn(sealed: string | undefined, keys: ServerKeys, at: Date): PendingSignIn | undefined {
  const pending = openValue<PendingSignIn>(sealed, 'sign-in', keys)
  return pending && at.getTime() - pending.startedAt <= SIGN_IN_SECONDS * 1000 ? pending : undefined
}

export type SignInResult =
  | { session: { secret: string; workspaceId: string } }
  | { problem: 'unverified' }
  | { problem: 'noRole'; email: string }
  /**
   * The names of the workspaces in which the person has roles, if there are several and the request names no workspace.
   */
  | { choices: string[] }

/**
 * Signs a person in: stores the person, and creates a session with a new secret. Ends the previous session of the
 * browser, so that anyone who knew its secret is signed out. Ends it even if the new person gets no session. Otherwise,
 * the browser would continue to act as the previous person.
 */
export async function signIn(
  store: Store,
  claims: ProviderClaims,
  options: {
    config: OidcConfig
    workspace: string | undefined
    /** The secret of the session in the cookie of the browser. */
    formerSecret: string | undefined
    isCommandLine: boolean
    correlationId: string
    at: Date
  },
): Promise<SignInResult> {
  const { config, workspace, formerSecret, isCommandLine, correlationId, at } = options
  const email = claims.email === undefined ? undefined : comparableEmail(claims.email)
  const claimedRoles = await findClaimedRoles(store, claims.groups, config)
  return store.transaction(async (tx) => {
    if (formerSecret !== undefined && !isCommandLine)
      await endSessions(tx, await tx.sessions.endByDigest(tokenDigest(formerSecret)), { correlationId, at })
    if (email === undefined || !(claims.emailVerified || config.trustsEmail)) return { problem: 'unverified' }
    const named = { issuer: config.issuer.href, subject: claims.subject, email }
    const members = await tx.members.listOfEmail(email)
    const names = await listWorkspaces(tx, [...members, ...claimedRoles])
    if (names.size === 0) {
      await tx.people.updateWithoutRole(named)
      return { problem: 'noRole', email }
    }
    const person = await tx.people.signIn({ ...named, claimedRoles }, at)
    const found = workspace === undefined ? [...names] : [...names].filter((one) => one.includes(workspace))
    if (found.length === 0) return { problem: 'noRole', email }
    if (found.length > 1) return { choices: found.map(([, name]) => name).sort() }
    const workspaceId = found[0]![0]
    const secret = isCommandLine ? newSessionToken() : newSessionSecret()
    const expiresAt = new Date(at.getTime() + SESSION_MS)
    const fields = { digest: tokenDigest(secret), personId: person.id, providerSession: claims.providerSession ?? null }
    const session = await tx.sessions.insert(workspaceId, { ...fields, expiresAt }, at)
    const actor = { tokenId: person.id, name: email, subject: person.subject }
    await tx.auditLog.insert(workspaceId, { action: 'session.create', actor, targetId: session.id, correlationId }, at)
    return { session: { secret, workspaceId } }
  })
}

/** Records ended sessions in the audit log, with the people of the sessions as actors. */
export async function endSessions(
  tx: Repositories,
  ended: readonly EndedSession[],
  { correlationId, at }: { correlationId: string; at: Date },
): Promise<void> {
  for (const { id, workspaceId, personId, subject, email } of ended) {
    const actor = { tokenId: personId, name: email, subject }
    await tx.auditLog.insert(workspaceId, { action: 'session.end', actor, targetId: id, correlationId }, at)
  }
}

/** Returns the names of workspaces by ID. */
async function listWorkspaces(
  { workspaces }: Repositories,
  roles: readonly { workspaceId: string }[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const { workspaceId } of roles) {
    const workspace = names.has(workspaceId) ? undefined : await workspaces.findByNameOrId(workspaceId)
    if (workspace?.id === workspaceId) names.set(workspaceId, workspace.name)
  }
  return names
}

/**
 * Returns the roles that the groups of a person give. A group with the name of a role gives this role in the workspace
 * `default`.
 */
async function findClaimedRoles(
  store: Store,
  groups: readonly string[],
  { groupRoles }: OidcConfig,
): Promise<ClaimedRole[]> {
  const ownNames = personRoles.map((role) => ({ group: role, role, workspace: 'default' }))
  const given = [...ownNames, ...groupRoles].filter(({ group }) => groups.includes(group))
  const claimed: ClaimedRole[] = []
  for (const { role, workspace } of given) {
    const found = await store.workspaces.findByNameOrId(workspace)
    if (found && !claimed.some((one) => one.role === role && one.workspaceId === found.id)) {
      claimed.push({ workspaceId: found.id, role })
    }
  }
  return claimed
}

/**
 * Returns the query and the fragment of the desk after a sign-in. Any text becomes parameters of these, so that it cannot
 * lead to another page.
 */
export function returnView(given: string | null): string {
  if (given === null || given.length > MAX_VIEW) return ''
  const [search = '', fragment = ''] = given.split('#').map((part) => new URLSearchParams(part).toString())
  const view = `${search && `?${search}`}${fragment && `#${fragment}`}`
  return view.length > MAX_VIEW ? '' : view
}

/** The maximum length of the view. A cookie contains the view, and browsers reject cookies of more than 4 KiB. */
const MAX_VIEW = 500

/** @throws ApiError for a body that is not a logout token */
export function logoutTokenOf(body: string): string {
  const token = new URLSearchParams(body).get('logout_token')
  if (token) return token
  throw new ApiError('INVALID_INPUT', { message: 'The body must contain logout_token.' })
}
