import { isWebhooksScope, type Scope } from '../../core/route.ts'
import { isUuidText } from '../../core/uuid.ts'
import type { Repositories } from '../../storage/store.ts'
import type { StoredToken } from '../../storage/workspaces/tokens-repository.ts'
import { createToken, type MadeToken } from '../create-token.ts'
import { auditOperator, OperatorError } from './operator.ts'

/** The maximum number of projects per token. It is low, because each query for a token lists all its projects. */
const MAX_PROJECTS = 100

/** @throws OperatorError if a project is missing or ambiguous, or a scope applies to the whole workspace */
export async function findProjectsOfToken(
  { projects }: Pick<Repositories, 'projects'>,
  workspaceId: string,
  { named, scopes }: { named: string[]; scopes: Scope[] | undefined },
): Promise<string[]> {
  const beyond = scopes?.find(isWebhooksScope)
  if (beyond) throw new OperatorError(`A token that is bound to projects cannot have the scope ${beyond}.`)
  if (named.length > MAX_PROJECTS) throw new OperatorError(`A token can be bound to at most ${MAX_PROJECTS} projects.`)
  const ids: string[] = []
  for (const one of new Set(named)) {
    const [id, another] = isUuidText(one)
      ? [(await projects.find(workspaceId, one.toLowerCase()))?.id]
      : await projects.listIdsByName(workspaceId, one)
    if (id === undefined)
      throw new OperatorError(`Project ${one} not found. To list all projects, run "passes project list".`)
    if (another !== undefined) throw new OperatorError(`Several projects are called ${one}: give the ID of one.`)
    ids.push(id)
  }
  return [...new Set(ids)]
}

/**
 * Replaces a token. The old token stays valid for the overlap, or until its own expiry if that is earlier. If two
 * rotations are concurrent, one is rejected.
 * @throws OperatorError if the token is missing, revoked, expired, or already rotated
 */
export async function rotateToken(
  tx: Repositories,
  workspaceId: string,
  id: string,
  { overlapSeconds, expiresAt, at }: { overlapSeconds: number; expiresAt: Date | null | undefined; at: Date },
): Promise<MadeToken & { previous: StoredToken }> {
  const token = await tx.tokens.findForUpdate(workspaceId, id)
  if (!token) throw new OperatorError('Token not found in the workspace. To list its tokens, run "passes token list".')
  const instead = 'create another with "passes token create"'
  if (token.revokedAt) throw new OperatorError(`The token was revoked at ${token.revokedAt.toISOString()}; ${instead}.`)
  if (token.replacedBy) {
    throw new OperatorError(`The token was already rotated: rotate its successor, ${token.replacedBy}.`)
  }
  if (token.expiresAt && token.expiresAt <= at) {
    throw new OperatorError(`The token expired at ${token.expiresAt.toISOString()}; ${instead}.`)
  }
  const { name, role, scopes, projectIds } = token
  const made = await createToken(tx, workspaceId, { name, role, scopes, projectIds, expiresAt }, at)
  const overlapEnd = new Date(at.getTime() + overlapSeconds * 1000)
  const ends = token.expiresAt && token.expiresAt < overlapEnd ? token.expiresAt : overlapEnd
  await tx.tokens.setReplaced(workspaceId, id, { by: made.token.id, expiresAt: ends })
  await auditOperator(tx, workspaceId, { action: 'token.rotate', targetId: id }, at)
  return { ...made, previous: { ...token, expiresAt: ends, replacedBy: made.token.id } }
}
