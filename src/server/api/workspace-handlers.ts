import type { tokens as tokensContract, workspace as workspaceContract } from '../../core/contract/workspace.ts'
import type { Handlers } from '../http/mount.ts'

export const workspace: Handlers<typeof workspaceContract> = {
  get: async (_, { store, workspaceId, token, now, inFlight }) => {
    const { name, expiresAt, limits } = token.workspace
    // A token of some projects cannot see resources of the workspace.
    if (token.projectIds) return { status: 200, body: { id: workspaceId, name } }
    const usage = { ...(await store.usage.read(workspaceId, now)), requestsInFlight: inFlight.count(workspaceId) }
    const ledgerPublicKey = (await store.chainHeads.findKeys(workspaceId))?.publicKey ?? null
    const body = { id: workspaceId, name, expiresAt: expiresAt?.toISOString() ?? null, ledgerPublicKey, limits, usage }
    return { status: 200, body }
  },
}

export const tokens: Handlers<typeof tokensContract> = {
  current: async (_, { token }) => ({
    status: 200,
    body: {
      id: token.id,
      name: token.name,
      role: token.role,
      scopes: token.scopes,
      workspaceId: token.workspaceId,
      workspaceName: token.workspace.name,
      expiresAt: token.expiresAt?.toISOString() ?? null,
      ...(token.projectIds && { projectIds: token.projectIds }),
    },
  }),
}
