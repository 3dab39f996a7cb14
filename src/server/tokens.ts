import { scopes as allScopes, type Role, type Scope } from '../core/route.ts'
import { newToken, tokenDigest } from '../core/rules/token.ts'
import type { Repositories, Store } from '../storage/store.ts'
import type { Token } from '../storage/tokens.ts'
import { operator } from './audit.ts'

export interface TokenOptions {
  name: string
  role: Role
  /** All of them where left out. */
  scopes?: Scope[] | undefined
  expiresAt?: Date | null
}

/** Makes a token in a workspace. The text is shown once: only its digest is stored. */
export async function createToken(
  tx: Repositories,
  workspaceId: string,
  { name, role, scopes = [...allScopes], expiresAt = null }: TokenOptions,
  at: Date,
): Promise<{ text: string; token: Token }> {
  const text = newToken()
  const token = await tx.tokens.insert(workspaceId, { name, role, scopes, digest: tokenDigest(text), expiresAt }, at)
  return { text, token }
}

/** On an empty database: the workspace `default` and an owner token for it. */
export function createFirstToken(store: Store, at: Date): Promise<string | undefined> {
  return store.transaction(async (tx) => {
    if (!(await tx.workspaces.isEmpty())) return undefined
    const workspace = await tx.workspaces.insert('default', at)
    // A server that started at the same moment was first.
    if (!workspace) return undefined
    const { text, token } = await createToken(tx, workspace.id, { name: 'first owner', role: 'owner' }, at)
    const entry = { actor: operator('serve'), correlationId: null }
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'workspace.create', targetId: workspace.id }, at)
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'token.create', targetId: token.id }, at)
    return text
  })
}
