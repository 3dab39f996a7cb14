import { Identity, type identities as identitiesContract } from '../../core/contract/identities.ts'
import {
  CurrentToken,
  type tokens as tokensContract,
  type workspace as workspaceContract,
} from '../../core/contract/workspace.ts'
import type { Handlers } from '../http/mount.ts'
import { toBody, toPage } from '../http/responses.ts'

export const workspace: Handlers<typeof workspaceContract> = {
  get: async (_, { store, workspaceId, token, now, inFlight }) => {
    const { name, expiresAt, limits } = token.workspace
    // A token that is bound to projects must not see data of the whole workspace.
    if (token.projectIds) return { id: workspaceId, name }
    const usage = { ...(await store.usage.read(workspaceId, now)), requestsInFlight: inFlight.count(workspaceId) }
    const ledgerPublicKey = (await store.chainHeads.findKeys(workspaceId))?.publicKey ?? null
    return { id: workspaceId, name, expiresAt: expiresAt?.toISOString() ?? null, ledgerPublicKey, limits, usage }
  },
}

export const tokens: Handlers<typeof tokensContract> = {
  current: async (_, { token }) =>
    toBody(CurrentToken, { ...token, workspaceName: token.workspace.name, projectIds: token.projectIds ?? undefined }),
}

export const identities: Handlers<typeof identitiesContract> = {
  list: async ({ query }, { store, workspaceId, token }) => {
    const { limit, offset = 0 } = query
    // A token that is bound to projects must not see data of the whole workspace.
    if (token.projectIds) return { items: [], total: 0, limit, offset, nextCursor: null, hasMore: false }
    return toPage(await store.identities.list(workspaceId, query), (identity) => toBody(Identity, identity))
  },
}
