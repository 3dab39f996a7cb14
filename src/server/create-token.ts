import { scopes as allScopes, isWebhooksScope, type Role, type Scope } from '../core/route.ts'
import { newToken, tokenDigest } from '../core/rules/crypto/token.ts'
import type { Repositories } from '../storage/store.ts'
import type { EndingToken, StoredToken } from '../storage/workspaces/tokens-repository.ts'

export interface TokenOptions {
  name: string
  role: Role
  /** Default: all. */
  scopes?: Scope[] | undefined
  /** The projects that the token can access. Default: the whole workspace. */
  projectIds?: string[] | null | undefined
  /** The expiry; null for a token that never expires. Default: in a year. */
  expiresAt?: Date | null | undefined
}

export interface MadeToken {
  /** The text of the token. It is shown once, and only its digest is stored. */
  text: string
  token: StoredToken
}

const LIFETIME_MS = 365 * 86_400_000

/** Returns the default expiry. Without a default, forgotten tokens would stay valid forever. */
function defaultExpiry(at: Date): Date {
  return new Date(at.getTime() + LIFETIME_MS)
}

function defaultScopes(projectIds: string[] | null): Scope[] {
  return allScopes.filter((scope) => !(projectIds && isWebhooksScope(scope)))
}

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

const NOTICE_MS = 30 * 86_400_000
const MAX_REPORTED = 20

/** Returns tokens that expire within 30 days and have no successor. Omits tokens with a lifetime of at most 30 days. */
export function endingTokens({ tokens }: Pick<Repositories, 'tokens'>, at: Date): Promise<EndingToken[]> {
  return tokens.listEnding(at, new Date(at.getTime() + NOTICE_MS), MAX_REPORTED)
}
