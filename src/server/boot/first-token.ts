import type { Store } from '../../storage/store.ts'
import { operator } from '../api/audit.ts'
import { createToken, type MadeToken } from '../create-token.ts'

/** Creates the workspace `default` and an owner token for it, if the database is empty. */
export function createFirstToken(store: Store, at: Date): Promise<MadeToken | undefined> {
  return store.transaction(async (tx) => {
    if (!(await tx.workspaces.isEmpty())) return undefined
    const workspace = await tx.workspaces.insert('default', at)
    // Another server that started concurrently was first.
    if (!workspace) return undefined
    const made = await createToken(tx, workspace.id, { name: 'first owner', role: 'owner' }, at)
    const entry = { actor: operator('serve'), correlationId: null }
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'workspace.create', targetId: workspace.id }, at)
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'token.create', targetId: made.token.id }, at)
    return made
  })
}
