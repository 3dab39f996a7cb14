import { scopes as allScopes, type Role, type Scope } from '../../core/route.ts'
import { newToken, tokenDigest } from '../../core/rules/crypto/token.ts'
import { isUuidText } from '../../core/uuid.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { EndingToken, StoredToken } from '../../storage/workspaces/tokens.ts'
import { operator } from '../api/audit.ts'
import { auditOperator, OperatorError } from './operator.ts'

/** What a new token may do, and for how long. */
export interface TokenOptions {
  name: string
  role: Role
  /** All of them where left out. */
  scopes?: Scope[] | undefined
  /** The only projects that it sees; the whole workspace where left out. */
  projectIds?: string[] | null | undefined
  /** Null: never. In a year where left out. */
  expiresAt?: Date | null | undefined
}

/** A new token with its text. */
export interface MadeToken {
  /** The token itself, which is shown once: only its digest is stored. */
  text: string
  token: StoredToken
}

/** Each statement of a request names them all. */
const MAX_PROJECTS = 100

const LIFETIME_MS = 365 * 86_400_000

/** A token that nobody uses any more ends by itself, and doctor tells of one that is still used. */
function defaultExpiry(at: Date): Date {
  return new Date(at.getTime() + LIFETIME_MS)
}

/** Endpoints of webhooks receive events of the whole workspace: none is for a token that sees some of its projects. */
const isOfWebhooks = (scope: Scope) => scope.startsWith('webhooks:')

function defaultScopes(projectIds: string[] | null): Scope[] {
  return allScopes.filter((scope) => !(projectIds && isOfWebhooks(scope)))
}

/**
 * The projects that a token is to be bound to, by their ids or names.
 * @throws OperatorError for one that is not there, a name that several have, and scopes that reach beyond projects
 */
export async function findProjectsOfToken(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  { named, scopes }: { named: string[]; scopes: Scope[] | undefined },
): Promise<string[]> {
  const beyond = scopes?.find(isOfWebhooks)
  if (beyond) throw new OperatorError(`A token that is bound to projects cannot have the scope ${beyond}.`)
  if (named.length > MAX_PROJECTS) throw new OperatorError(`A token is bound to ${MAX_PROJECTS} projects at most.`)
  const ids: string[] = []
  for (const one of new Set(named)) {
    const [id, another] = isUuidText(one)
      ? [(await projects.find(workspaceId, one.toLowerCase()))?.id]
      : await projects.listIdsByName(workspaceId, one)
    if (id === undefined) throw new OperatorError(`There is no project ${one}; passes project list shows them.`)
    if (another !== undefined) throw new OperatorError(`Several projects are called ${one}: give the id of one.`)
    ids.push(id)
  }
  return [...new Set(ids)]
}

/** Makes a token in a workspace. */
export async function createToken(
  tx: Repositories,
  workspaceId: string,
  { name, role, projectIds = null, scopes = defaultScopes(projectIds), expiresAt }: TokenOptions,
  at: Date,
): Promise<MadeToken> {
  const text = newToken()
  const ends = expiresAt === undefined ? defaultExpiry(at) : expiresAt
  const fields = { name, role, scopes, projectIds, digest: tokenDigest(text), expiresAt: ends }
  const token = await tx.tokens.insert(workspaceId, fields, at)
  return { text, token }
}

/**
 * Makes the token that follows another: of the same name, role and scopes. The one before goes on for the overlap, or for
 * what it had left where that is less. Of two rotations at once one is refused.
 * @throws OperatorError
 */
export async function rotateToken(
  tx: Repositories,
  workspaceId: string,
  id: string,
  { overlapSeconds, expiresAt, at }: { overlapSeconds: number; expiresAt: Date | null | undefined; at: Date },
): Promise<MadeToken & { previous: StoredToken }> {
  const token = await tx.tokens.findForUpdate(workspaceId, id)
  if (!token) throw new OperatorError(`There is no such token in the workspace; passes token list shows them.`)
  const instead = 'make another: passes token create'
  if (token.revokedAt) throw new OperatorError(`The token was revoked at ${token.revokedAt.toISOString()}; ${instead}.`)
  if (token.replacedBy) {
    throw new OperatorError(`The token was rotated already: rotate the one that follows it, ${token.replacedBy}.`)
  }
  if (token.expiresAt && token.expiresAt <= at) {
    throw new OperatorError(`The token ended at ${token.expiresAt.toISOString()}; ${instead}.`)
  }
  const { name, role, scopes, projectIds } = token
  const made = await createToken(tx, workspaceId, { name, role, scopes, projectIds, expiresAt }, at)
  const overlapEnd = new Date(at.getTime() + overlapSeconds * 1000)
  const ends = token.expiresAt && token.expiresAt < overlapEnd ? token.expiresAt : overlapEnd
  await tx.tokens.setReplaced(workspaceId, id, { by: made.token.id, expiresAt: ends })
  await auditOperator(tx, workspaceId, { action: 'token.rotate', targetId: id }, at)
  return { ...made, previous: { ...token, expiresAt: ends, replacedBy: made.token.id } }
}

/** Tokens are told of so long before they end. */
const NOTICE_MS = 30 * 86_400_000
const MAX_TOLD = 20

/** Tokens of any workspace that end within 30 days and that none follows, but for those that were made for so short a time. */
export function endingTokens({ tokens }: Pick<Repositories, 'tokens'>, at: Date): Promise<EndingToken[]> {
  return tokens.listEnding(at, new Date(at.getTime() + NOTICE_MS), MAX_TOLD)
}

/** On an empty database: the workspace `default` and an owner token for it. */
export function createFirstToken(store: Store, at: Date): Promise<MadeToken | undefined> {
  return store.transaction(async (tx) => {
    if (!(await tx.workspaces.isEmpty())) return undefined
    const workspace = await tx.workspaces.insert('default', at)
    // A server that started at the same moment was first.
    if (!workspace) return undefined
    const made = await createToken(tx, workspace.id, { name: 'first owner', role: 'owner' }, at)
    const entry = { actor: operator('serve'), correlationId: null }
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'workspace.create', targetId: workspace.id }, at)
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'token.create', targetId: made.token.id }, at)
    return made
  })
}
